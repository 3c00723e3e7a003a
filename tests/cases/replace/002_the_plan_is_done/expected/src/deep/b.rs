fn b() {
    log("b");
}
