// Prints what the unit tests and `npm test` cost in processor time. The unit is the type check of the same run, because both take
// longer on a busy machine. Exits with 1 above a budget, or without a measurement.
// Usage: node .ci/costs.mjs FOLDER, with a file NAME.times for each measured step, as `times` of the shell prints it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const [folder] = process.argv.slice(2)
const typeCheck = secondsOf('typecheck')
const costs = [
  { what: 'unit tests', seconds: secondsOf('unit'), budget: 2.6 },
  { what: 'npm test', seconds: secondsOf('unit') + secondsOf('others'), budget: 16.5 },
].map((cost) => ({ ...cost, checks: cost.seconds / typeCheck }))

const line = costs.map(({ what, checks, budget }) => `${what} ${checks.toFixed(1)} of at most ${budget}`)
console.log(`Cost in type checks of ${typeCheck.toFixed(0)} CPU seconds: ${line.join(', ')}.`)
if (!costs.every(({ checks, budget }) => checks <= budget)) {
  console.error('The tests cost more than their budget. `npm run test:costs` prints what each folder costs.')
  process.exitCode = 1
}

/** Adds up the children's line of `times`, such as `1m2.50s 0m3.25s`. */
function secondsOf(step) {
  const printed = readFileSync(join(folder, `${step}.times`), 'utf8').trim()
  const [user, system] = printed.split('\n').at(-1).split(' ')
  return [user, system].reduce((sum, time) => sum + 60 * parseInt(time) + parseFloat(time.split('m')[1]), 0)
}
