let total = 3;
