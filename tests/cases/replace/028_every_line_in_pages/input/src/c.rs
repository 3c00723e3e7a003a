// total
