import { afterAll, describe, expect, it } from 'vitest'
import { readDocComments, writeExamples } from './doc-comments.js'
import { closeWorkspace, openWorkspace, typeErrors } from './snippets.js'

const workspace = openWorkspace()
afterAll(() => closeWorkspace(workspace))
const functions = readDocComments()
const list = (found: readonly { name: string; location: string }[]) =>
  found.map(({ name, location }) => `${name} (${location})`)

describe('the public entries', () => {
  it('have functions', () => {
    expect(functions.length).toBeGreaterThan(100)
  })

  it('describe every function', () => {
    expect(list(functions.filter(({ text }) => text === ''))).toEqual([])
  })

  it('show an example of every function', () => {
    expect(list(functions.filter(({ examples }) => examples.length === 0))).toEqual([])
  })

  it('have examples that compile', () => {
    expect(typeErrors(workspace, writeExamples(workspace, functions))).toEqual([])
  })

  it('import the function in its example', () => {
    const isImported = ({ name, examples }: (typeof functions)[number]) => {
      const [entry, exported] = name.split(': ') as [string, string]
      const imports = examples.flatMap((code) => [...code.matchAll(/^import \{(.*)\} from '(.*)'$/gm)])
      return (
        exported.includes('.') ||
        imports.some(([, names, from]) => from === entry && names!.includes(exported))
      )
    }
    expect(list(functions.filter((found) => !isImported(found)))).toEqual([])
  })
})
