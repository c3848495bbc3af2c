import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import ts from 'typescript'
import { entries } from '../../../build/entries.js'
import { repository } from './documents.js'

/** A function, class or method that applications call, with its doc comment. */
export interface Documented {
  /** Such as `@svc/db: cleanUp` or `@svc/db: StorageObjectStore.keep`. */
  readonly name: string
  /** Where its comment is, such as `src/core/guards.ts:104`. */
  readonly location: string
  readonly text: string
  /** The code of its examples, without fences. */
  readonly examples: readonly string[]
}

/** The types of what the library returns, whose methods applications call. Those that applications implement are not among them. */
const CALLED = [
  'StorageObjectStore',
  'ServerFiles',
  'DbContext',
  'S3ServerCore',
  'S3Api',
  'DbApi',
  'UploadQueue',
]

/** Types of functions, by whose names these declare methods. */
const FUNCTION_TYPES = ['Handler', 'Close', 'Verify']

/** Reads the doc comments of the functions, classes and methods of the public entries. */
export function readDocComments(): Documented[] {
  const files = Object.values(entries).map((path) => join(repository, path))
  const { options } = ts.parseJsonConfigFileContent(
    { extends: './tsconfig.json' },
    { ...ts.sys, readDirectory: () => [] },
    repository,
  )
  // Resolves names only: the types are not checked, so their libraries are not read.
  const program = ts.createProgram(files, { ...options, noLib: true, types: [] })
  const checker = program.getTypeChecker()
  const functions = new Map<ts.Symbol, Documented>()
  for (const [entry, path] of Object.entries(entries)) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(join(repository, path))!)!
    for (const exported of checker.getExportsOfModule(module)) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      const name = `${entry === 'index' ? '@svc/db' : `@svc/db/${entry}`}: ${exported.name}`
      const declarations = symbol.declarations ?? []
      if (declarations.some(isFunction)) add(functions, symbol, name)
      if (!CALLED.includes(exported.name)) continue
      for (const member of declarations.flatMap(methodsOf)) {
        add(functions, checker.getSymbolAtLocation(member.name)!, `${name}.${member.name.getText()}`)
      }
    }
  }
  return [...functions.values()]
}

/** What examples use without declaring it, as the text around them in an application would. */
const NAMES = `
declare const store: import('@svc/db').StorageObjectStore
declare const s3: import('@svc/db').S3Server<[import('@svc/db').DbPlugin]>
declare const api: import('@svc/db/client').S3Client<[ReturnType<typeof import('@svc/db/client').dbClient>]>['api']
declare const queue: import('@svc/db/uploads').UploadQueue
declare const guard: (context: import('@svc/db').GuardContext) => Promise<unknown>
declare const userOf: (request: Request) => string | null
declare const request: Request
declare const scope: string
declare const bucket: string
declare const key: string
declare const id: string
declare const attemptId: string
declare const object: import('@svc/db').StorageObject
declare const pending: import('@svc/db').StorageObject
declare const live: import('@svc/db/adapter').LiveRows
declare const save: (live: import('@svc/db/adapter').LiveRows) => void
declare const pool: import('pg').Pool
declare const server: import('node:http').Server
declare const session: { readonly userId: string }
declare const form: { readonly fileIds: readonly string[] }
declare const file: File
declare const input: HTMLInputElement
declare const image: HTMLImageElement
declare const pauseButton: HTMLButtonElement
declare const showResume: () => void
declare const showReloadHint: () => void
declare const useSyncExternalStore: <T>(subscribe: (listener: () => void) => () => void, read: () => T, readOnServer: () => T) => T
`

/** Writes each example to a file, and one that declares what they share. Returns the paths. */
export function writeExamples(workspace: string, functions: readonly Documented[]): string[] {
  const folder = join(workspace, 'examples')
  mkdirSync(folder, { recursive: true })
  const names = join(folder, 'names.d.ts')
  writeFileSync(names, NAMES)
  const files = functions.flatMap(({ name, examples }) =>
    examples.map((code, index) => {
      const file = join(folder, `${name.replace(/[^\w.]+/g, '-')}-${index + 1}.ts`)
      writeFileSync(file, `${code}\nexport {}\n`)
      return file
    }),
  )
  return [names, ...files]
}

/** Adds a function with the comments of all its declarations, under the name of the first entry that exports it. */
function add(found: Map<ts.Symbol, Documented>, symbol: ts.Symbol, name: string): void {
  const declarations = symbol.declarations ?? []
  const tags = declarations.flatMap((declaration) => [...ts.getJSDocTags(declaration)])
  const [first] = declarations
  if (found.has(symbol) || !first || tags.some(({ tagName }) => tagName.text === 'internal')) return
  const file = first.getSourceFile()
  const { line } = file.getLineAndCharacterOfPosition(first.getStart())
  const comments = declarations
    .flatMap((declaration) => ts.getJSDocCommentsAndTags(declaration))
    .filter(ts.isJSDoc)
  found.set(symbol, {
    name,
    location: `${relative(repository, file.fileName)}:${line + 1}`,
    text: comments.map(({ comment }) => ts.getTextOfJSDocComment(comment) ?? '').join('\n'),
    examples: tags
      .filter(({ tagName }) => tagName.text === 'example')
      .map(({ comment }) => codeOf(ts.getTextOfJSDocComment(comment) ?? '')),
  })
}

/** The code of an example, which may be in a fence. */
function codeOf(text: string): string {
  return text.replace(/^```ts\n/, '').replace(/\n```$/, '')
}

function isFunction(node: ts.Node): boolean {
  return ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node)
}

/** The methods that an interface declares, also as properties, and also by the name of a function type. */
function methodsOf(node: ts.Node): readonly (ts.TypeElement & { readonly name: ts.PropertyName })[] {
  if (!ts.isInterfaceDeclaration(node)) return []
  return node.members.filter(
    (member): member is ts.MethodSignature | ts.PropertySignature =>
      ts.isMethodSignature(member) ||
      (ts.isPropertySignature(member) &&
        member.type !== undefined &&
        (ts.isFunctionTypeNode(member.type) || FUNCTION_TYPES.includes(member.type.getText()))),
  )
}
