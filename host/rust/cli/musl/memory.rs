//! `memmove`, `memcpy`, `memcmp` and `bcmp` for x86-64. Those of musl copy by an instruction that takes long to start, while
//! most copies are of a few bytes, and compare a byte at a time. For 64-bit Arm, musl has a fast `memcpy`.

#![expect(unsafe_code, reason = "a function of the C library can only be replaced by a symbol of its name")]

use core::arch::global_asm;

#[cfg(target_env = "musl")]
global_asm!(
    include_str!("memmove.s"),
    include_str!("memcmp.s"),
    ".globl memmove",
    ".set memmove, paddock_memmove",
    ".globl memcpy",
    ".set memcpy, paddock_memmove",
    ".globl memcmp",
    ".set memcmp, paddock_memcmp",
    ".globl bcmp",
    ".set bcmp, paddock_memcmp",
);

#[cfg(not(target_env = "musl"))]
global_asm!(include_str!("memmove.s"), include_str!("memcmp.s"));

#[cfg(test)]
mod tests {
    unsafe extern "C" {
        fn paddock_memmove(to: *mut u8, from: *const u8, length: usize) -> *mut u8;
        fn paddock_memcmp(left: *const u8, right: *const u8, length: usize) -> i32;
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

    /// Compares equal bytes, and bytes with a difference at every place, of every length up to 140 bytes. Bytes after the
    /// compared ones differ, and so do bytes after the first difference, in the other direction.
    #[test]
    fn a_comparison_is_that_of_the_standard_library() {
        let bytes: Vec<u8> = (0..200_u32).map(|index| (index * 37 + 1).to_le_bytes()[0]).collect();
        for (shift, length) in (0..17).flat_map(|shift| (0..140).map(move |length| (shift, length))) {
            let left = &bytes[shift..];
            for place in 0..=length {
                for byte in [0, 0x7f, 0x80, 0xff] {
                    let mut right = bytes[shift..].to_vec();
                    right[place] = byte;
                    right[place + 1] = if byte < left[place] { 0xff } else { 0 };
                    // SAFETY: both buffers are longer.
                    let ordering = unsafe { paddock_memcmp(left.as_ptr(), right.as_ptr(), length) };
                    assert_eq!(ordering.cmp(&0), left[..length].cmp(&right[..length]), "{byte} at {place} of {length}");
                }
            }
        }
    }
}
