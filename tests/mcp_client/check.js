// Checks that are told one by one, and fail the process in the end.

/** Runs `body`, and tells whether it got through. */
export async function check(name, body) {
  try {
    await body();
    console.log(`pass ${name}`);
  } catch (cause) {
    process.exitCode = 1;
    console.log(`fail ${name}\n${cause.stack}`);
  }
}
