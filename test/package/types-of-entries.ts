import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { compile, createApplication, linkPackages, type Tarball } from './packed-package.js'
import { repository } from './programs.js'

/** In a third of the processor time of TypeScript 6, which long runs take. */
export const TYPESCRIPT_7 = 'typescript7'
export const TYPESCRIPT_6 = 'typescript'

/** Creates an application with the optional packages, and one without. */
export async function createApplications(
  withPeers: string,
  withoutPeers: string,
  peers: readonly string[],
): Promise<Tarball> {
  const tarball = await createApplication(withoutPeers, 'entries')
  cpSync(join(import.meta.dirname, 'applications', 'typescript'), withoutPeers, { recursive: true })
  cpSync(withoutPeers, withPeers, { recursive: true, verbatimSymlinks: true })
  const types = readdirSync(join(repository, 'node_modules', '@types'))
  const typed = ['node', ...peers].filter((name) => types.includes(name))
  linkPackages(withPeers, [...peers, ...typed.map((name) => `@types/${name}`)])
  return tarball
}

/** Returns the values, such as functions and constants, that each declaration file declares. */
export function declaredValues(files: readonly string[]): (readonly string[])[] {
  const { NodeNext: module } = ts.ModuleKind
  const { NodeNext: moduleResolution } = ts.ModuleResolutionKind
  const program = ts.createProgram(files, { module, moduleResolution, skipLibCheck: true, types: [] })
  const checker = program.getTypeChecker()
  const meant = (symbol: ts.Symbol) =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  return files.map((file) => {
    const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)!)!)
    return exported.filter((symbol) => meant(symbol).flags & ts.SymbolFlags.Value).map(({ name }) => name)
  })
}

/** Checks the declarations with a compiler of the repository. */
export function describeTypes(withPeers: string, withoutPeers: string, compiler: string): void {
  describe('the types', () => {
    const nodenext = { module: 'nodenext', target: 'ES2022', lib: ['ES2023', 'DOM', 'DOM.Iterable'] }

    /** Checks a file as an ES module and as a CommonJS module, and all declarations that it imports. */
    async function typeCheck(folder: string, name: string, types: readonly string[]) {
      const text = readFileSync(join(folder, `${name}.ts`), 'utf8')
      const files = [`${name}.mts`, `${name}.cts`]
      // ES modules need the named export, which the oldest ioredis doesn't have.
      const current = text.replace("import Redis from 'ioredis'", "import { Redis } from 'ioredis'")
      for (const file of files) writeFileSync(join(folder, file), current)
      return (await compile(folder, files, { ...nodenext, types }, repository, compiler)).errors
    }

    it('fit an application that uses every entry with the optional packages', async () => {
      expect(await typeCheck(withPeers, 'application', ['node'])).toEqual([])
    })

    it('need only the standard library', async () => {
      expect(await typeCheck(withoutPeers, 'without-peers', [])).toEqual([])
    })
  })
}
