use log::warn;
fn a() {
    log("one");
    log("two");
}
