fn b() {
    warn!("b");
}
