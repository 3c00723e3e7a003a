/** Two texts of some hundred kilobytes. */
export const TEXTS = ['one', 'two'].map((word) => `${word} ${word}\n`.repeat(30_000));
