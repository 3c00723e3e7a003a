use std::io;

pub struct A {
    b: u8,
}

impl A {
    /// Adds.
    #[inline]
    pub fn add(
        &mut self,
        other: u8,
    ) -> io::Result<u8> {
        if other > 0 {
            for _ in 0..other {
                self.b += 1;
            }
        }
        Ok(self.b)
    }
}
