int x;

/* it */
int main(void) {
	if (x) {
		return 1;
	}
	return 0;
}

int y;
