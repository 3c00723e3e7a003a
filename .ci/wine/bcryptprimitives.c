/* The library that Rust's standard library takes random bytes from, for Wine before 9.0, which has none. */
#include <windows.h>
#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T length) {
    return RtlGenRandom(bytes, (ULONG)length);
}
