// `int memcmp(const void *left, const void *right, size_t length)` for x86-64 with the calling convention of System V, as
// `bcmp` too. It uses no registers but those that the caller expects to change, no stack, and no instructions beyond
// SSE2, which every x86-64 processor has.
.pushsection .text.paddock_memcmp, "ax", @progbits
.p2align 6
.globl paddock_memcmp
.hidden paddock_memcmp
.type paddock_memcmp, @function
paddock_memcmp:
    cmp rdx, 16
    jb 3f
    // r8 is where the last 16 bytes begin. They may cover bytes that were compared before.
    lea r8, [rdx - 16]
    xor ecx, ecx
2:
    movdqu xmm0, [rdi + rcx]
    movdqu xmm1, [rsi + rcx]
    pcmpeqb xmm0, xmm1
    pmovmskb eax, xmm0
    xor eax, 0xffff
    jnz 8f
    cmp rcx, r8
    je 9f
    add rcx, 16
    cmp rcx, r8
    cmova rcx, r8
    jmp 2b
3:
    cmp edx, 8
    jb 4f
    mov rax, [rdi]
    mov rcx, [rsi]
    cmp rax, rcx
    jne 6f
    mov rax, [rdi + rdx - 8]
    mov rcx, [rsi + rdx - 8]
    cmp rax, rcx
    jne 6f
    xor eax, eax
    ret
4:
    cmp edx, 4
    jb 5f
    mov eax, [rdi]
    mov ecx, [rsi]
    cmp eax, ecx
    jne 7f
    mov eax, [rdi + rdx - 4]
    mov ecx, [rsi + rdx - 4]
    cmp eax, ecx
    jne 7f
    xor eax, eax
    ret
5:
    // Up to 3 bytes.
    xor ecx, ecx
    xor eax, eax
51:
    cmp rcx, rdx
    je 9f
    movzx eax, byte ptr [rdi + rcx]
    movzx r8d, byte ptr [rsi + rcx]
    inc rcx
    sub eax, r8d
    jz 51b
    ret
6:
    // The first different byte decides, so that it has to be the most significant one.
    bswap rax
    bswap rcx
    cmp rax, rcx
    sbb eax, eax
    or eax, 1
    ret
7:
    bswap eax
    bswap ecx
    cmp eax, ecx
    sbb eax, eax
    or eax, 1
    ret
8:
    // The lowest bit of eax is the first different byte of 16.
    bsf eax, eax
    add rcx, rax
    movzx eax, byte ptr [rdi + rcx]
    movzx r8d, byte ptr [rsi + rcx]
    sub eax, r8d
9:
    ret
.size paddock_memcmp, . - paddock_memcmp
.popsection
