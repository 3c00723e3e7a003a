fn f() {
    one();
    two();
    three();
    three();
}
