/* x
*/
int b;
