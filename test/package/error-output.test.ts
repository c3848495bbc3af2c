import { join } from 'node:path'
import { expect, it } from 'vitest'
import { repository, runProgram } from './packed-package.js'

/** Prints an error of the build as logs show it: by `console.log`, by name, by class and by its stack. */
const program = (load: string) => `
  ${load}
  const error = new StorageError('FORBIDDEN', { message: 'Not on this plan.' })
  console.log(error)
  console.log(JSON.stringify([error.name, error.constructor.name, String(error), error.stack.split('\\n')[0]]))
`

const builds = {
  'ES module': program(
    `const { StorageError } = await import(${JSON.stringify(join(repository, 'dist/index.js'))})`,
  ),
  CommonJS: program(
    `const { StorageError } = require(${JSON.stringify(join(repository, 'dist/index.cjs'))})`,
  ),
}

// The bundler used to rename the class to `_StorageError`, which `console.log` shows.
it.each(Object.entries(builds))('logs of the %s build show the name StorageError', async (build, source) => {
  const type = build === 'CommonJS' ? 'commonjs' : 'module'
  const ran = await runProgram(repository, process.execPath, `--input-type=${type}`, '--eval', source)
  expect(ran.exitCode, ran.output).toBe(0)
  const lines = ran.output.trimEnd().split('\n')
  expect(lines[0]).toBe('StorageError: Not on this plan.')
  expect(ran.output).not.toContain('_StorageError')
  const text = 'StorageError: Not on this plan.'
  expect(JSON.parse(lines.at(-1)!)).toEqual(['StorageError', 'StorageError', text, text])
})
