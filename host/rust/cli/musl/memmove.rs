//! `memmove` and `memcpy` for x86-64. Those of musl copy by an instruction that takes long to start, while most copies are of
//! a few bytes. For 64-bit Arm, musl has fast ones.

#![expect(unsafe_code, reason = "a function of the C library can only be replaced by a symbol of its name")]

use core::arch::global_asm;

#[cfg(target_env = "musl")]
global_asm!(
    include_str!("memmove.s"),
    ".globl memmove",
    ".set memmove, paddock_memmove",
    ".globl memcpy",
    ".set memcpy, paddock_memmove",
);

#[cfg(not(target_env = "musl"))]
global_asm!(include_str!("memmove.s"));

#[cfg(test)]
mod tests {
    unsafe extern "C" {
        fn paddock_memmove(to: *mut u8, from: *const u8, length: usize) -> *mut u8;
    }

    /// Copies within a buffer with every length up to 400 bytes and some longer ones, with every alignment of both sides,
    /// and with overlaps in both directions.
    #[test]
    fn a_copy_is_that_of_the_standard_library() {
        let buffer: Vec<u8> = (0..2000_u32).map(|index| (index * 7 + index / 251).to_le_bytes()[0]).collect();
        let lengths = || (0..400).chain([511, 512, 513, 700, 1000]);
        for (from, to) in
            (300..320).flat_map(|from| (280..320).chain([340, 344, 380, 408, 480, 680]).map(move |to| (from, to)))
        {
            for length in lengths() {
                let (mut expected, mut copied) = (buffer.clone(), buffer.clone());
                expected.copy_within(from..from + length, to);
                let start = copied.as_mut_ptr();
                // SAFETY: both ranges are in the buffer.
                let returned = unsafe { paddock_memmove(start.add(to), start.add(from), length) };
                assert_eq!(returned, start.wrapping_add(to));
                assert!(copied == expected, "{length} bytes from {from} to {to}");
            }
        }
    }
}
