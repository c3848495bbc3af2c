/**
 * Whether this is `npm run test:long`, and how often to run a property: `fast` times by default, `long` times there.
 * `npm run test:long` runs the test files that import this file, directly or not.
 */
export const isLongRun = Boolean(process.env['TEST_LONG'])
export const runs = (fast: number, long: number) => (isLongRun ? long : fast)
