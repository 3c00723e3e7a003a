fn f() {
    let total = total();
	use(total);
}
