fn two() {}
