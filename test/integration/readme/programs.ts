import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'vitest'

/** Runs the program of a snippet and asserts that it does what its document says. */
export type SnippetCheck = (program: string) => Promise<void>

/** A check that needs the server of `DATABASE_URL`, that of `MONGODB_URL`, or a `mongod` to start. Without it, it is a visible skip. */
export type ServerCheck =
  | { readonly onPostgres: SnippetCheck }
  | { readonly onMongo: SnippetCheck }
  | { readonly onOwnMongod: SnippetCheck }

export type SnippetChecks = Readonly<Record<string, SnippetCheck | ServerCheck>>

/** Runs a program in this process and returns its exports. A program runs only once. */
export async function run<Exports>(program: string): Promise<Exports> {
  return (await import(/* @vite-ignore */ pathToFileURL(program).href)) as Exports
}

/** Runs a program in another process, so it can run more than once. Returns what it prints to stderr. */
export async function runApart(
  program: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { stderr } = await promisify(execFile)(process.execPath, [program], {
    env: { ...process.env, NODE_OPTIONS: '', NODE_V8_COVERAGE: '', ...variables },
  })
  return stderr
}

/** Runs another program of the same document. */
export async function runSibling<Exports>(program: string, name: string): Promise<Exports> {
  return run(join(dirname(program), name))
}

/** Runs a `node:test` file, or those of its tests whose names match, and expects at least this many tests, all of which pass. */
export function passingTests(
  atLeast: number,
  names = '.',
  variables: Readonly<Record<string, string>> = {},
): SnippetCheck {
  return async (program) => {
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      ['--test', '--test-reporter=tap', `--test-name-pattern=${names}`, program],
      // Vitest's own settings must not reach the inner test runner.
      { env: { ...process.env, NODE_OPTIONS: '', NODE_V8_COVERAGE: '', ...variables } },
    ).catch((error: { stdout: string; stderr: string }) => error)
    const total = (name: string) => Number(new RegExp(`^# ${name} (\\d+)`, 'm').exec(stdout)?.[1])
    expect({ failed: total('fail'), output: total('fail') === 0 ? '' : stdout + stderr }).toEqual({
      failed: 0,
      output: '',
    })
    expect(total('pass')).toBeGreaterThanOrEqual(atLeast)
  }
}
