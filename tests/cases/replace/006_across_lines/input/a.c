/* one
   two */
int a;
