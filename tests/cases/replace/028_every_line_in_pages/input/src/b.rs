let total = 1;
let b = 2;
let total = 2;
