// `void *memmove(void *destination, const void *source, size_t length)` for x86-64 with the calling convention of System V, as
// `memcpy` too. It uses no registers but those that the caller expects to change, no stack, and no instructions beyond
// SSE2, which every x86-64 processor has.
//
// Up to 128 bytes: all loads come before the first store, so that an overlap does not matter. The first and the last
// loads may cover the same bytes.
.pushsection .text.paddock_memmove, "ax", @progbits
.p2align 6
.globl paddock_memmove
.hidden paddock_memmove
.type paddock_memmove, @function
paddock_memmove:
    mov rax, rdi
    cmp rdx, 16
    jb 2f
    cmp rdx, 32
    ja 5f
    movups xmm0, [rsi]
    movups xmm1, [rsi + rdx - 16]
    movups [rdi], xmm0
    movups [rdi + rdx - 16], xmm1
    ret
2:
    cmp edx, 8
    jb 3f
    mov rcx, [rsi]
    mov r8, [rsi + rdx - 8]
    mov [rdi], rcx
    mov [rdi + rdx - 8], r8
    ret
3:
    cmp edx, 4
    jb 4f
    mov ecx, [rsi]
    mov r8d, [rsi + rdx - 4]
    mov [rdi], ecx
    mov [rdi + rdx - 4], r8d
    ret
4:
    test edx, edx
    jz 7f
    // The first, the middle and the last of 1 to 3 bytes.
    movzx ecx, byte ptr [rsi]
    movzx r8d, byte ptr [rsi + rdx - 1]
    mov r9, rdx
    shr r9, 1
    movzx r10d, byte ptr [rsi + r9]
    mov [rdi], cl
    mov [rdi + r9], r10b
    mov [rdi + rdx - 1], r8b
7:
    ret
5:
    movups xmm0, [rsi]
    movups xmm1, [rsi + 16]
    movups xmm2, [rsi + rdx - 32]
    movups xmm3, [rsi + rdx - 16]
    cmp rdx, 64
    ja 6f
    movups [rdi], xmm0
    movups [rdi + 16], xmm1
    movups [rdi + rdx - 32], xmm2
    movups [rdi + rdx - 16], xmm3
    ret
6:
    movups xmm4, [rsi + 32]
    movups xmm5, [rsi + 48]
    movups xmm6, [rsi + rdx - 64]
    movups xmm7, [rsi + rdx - 48]
    cmp rdx, 128
    ja 8f
    movups [rdi], xmm0
    movups [rdi + 16], xmm1
    movups [rdi + 32], xmm4
    movups [rdi + 48], xmm5
    movups [rdi + rdx - 64], xmm6
    movups [rdi + rdx - 48], xmm7
    movups [rdi + rdx - 32], xmm2
    movups [rdi + rdx - 16], xmm3
    ret
8:
    mov rcx, rdi
    sub rcx, rsi
    cmp rcx, rdx
    jb 20f
    // Forward. The first 16 bytes and the last 64 are in registers, so that the loop may begin at an aligned address and may
    // end before them.
    movups xmm8, xmm0
    lea r8, [rdi + rdx - 64]
    lea rcx, [rdi + 16]
    and rcx, -16
    mov r9, rsi
    sub r9, rdi
    // r9 is the distance of the source from the destination.
10:
    movups xmm0, [rcx + r9]
    movups xmm1, [rcx + r9 + 16]
    movups xmm4, [rcx + r9 + 32]
    movups xmm5, [rcx + r9 + 48]
    movaps [rcx], xmm0
    movaps [rcx + 16], xmm1
    movaps [rcx + 32], xmm4
    movaps [rcx + 48], xmm5
    add rcx, 64
    cmp rcx, r8
    jb 10b
    movups [rdi], xmm8
    movups [r8], xmm6
    movups [r8 + 16], xmm7
    movups [r8 + 32], xmm2
    movups [r8 + 48], xmm3
    ret
20:
    // Backward, because the destination begins in the source.
    test rcx, rcx
    jz 22f
    movups xmm8, xmm3
    lea r8, [rdi + 64]
    lea rcx, [rdi + rdx - 1]
    and rcx, -16
    mov r9, rsi
    sub r9, rdi
    movups xmm9, xmm0
    movups xmm10, xmm1
21:
    movups xmm0, [rcx + r9 - 16]
    movups xmm1, [rcx + r9 - 32]
    movups xmm2, [rcx + r9 - 48]
    movups xmm3, [rcx + r9 - 64]
    movaps [rcx - 16], xmm0
    movaps [rcx - 32], xmm1
    movaps [rcx - 48], xmm2
    movaps [rcx - 64], xmm3
    sub rcx, 64
    cmp rcx, r8
    ja 21b
    movups [rdi + rdx - 16], xmm8
    movups [rdi], xmm9
    movups [rdi + 16], xmm10
    movups [rdi + 32], xmm4
    movups [rdi + 48], xmm5
22:
    ret
.size paddock_memmove, . - paddock_memmove
.popsection
