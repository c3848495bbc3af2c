/** Whether this is `npm run test:long`, and how often to run a property: `fast` times by default, `long` times there. */
export const isLongRun = Boolean(process.env['TEST_LONG'])
export const runs = (fast: number, long: number) => (isLongRun ? long : fast)
