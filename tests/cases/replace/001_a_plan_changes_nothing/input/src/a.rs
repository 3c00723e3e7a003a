use log::warn;
fn a() {
    warn!("one");
    warn!("two");
}
