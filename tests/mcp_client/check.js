// Checks that are reported one by one. If one fails, the process ends with a failure.

/** Runs `body`, and prints whether it succeeded. */
export async function check(name, body) {
  try {
    await body();
    console.log(`pass ${name}`);
  } catch (cause) {
    process.exitCode = 1;
    console.log(`fail ${name}\n${cause.stack}`);
  }
}
