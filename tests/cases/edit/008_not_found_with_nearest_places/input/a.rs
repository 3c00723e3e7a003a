fn a() {
    let total = 1;
    print(total);
}

fn b() {
    let total = 2;
    print(total);
}
