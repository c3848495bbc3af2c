import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const repository = fileURLToPath(new URL('../../..', import.meta.url))

export interface CodeBlock {
  readonly language: string
  readonly code: string
  /** Line number of its first line of code. */
  readonly line: number
}

export interface Document {
  /** Relative to the repository root, such as `docs/http-api.md`. */
  readonly path: string
  readonly text: string
  readonly blocks: readonly CodeBlock[]
  /** Targets of its links and images, as written. */
  readonly links: readonly string[]
}

/** Reads every document for users. */
export function readDocuments(): Document[] {
  const docs = readdirSync(join(repository, 'docs'), { recursive: true, encoding: 'utf8' })
  const paths = [
    'README.md',
    'BENCHMARKS.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'UPGRADING.md',
    'SECURITY.md',
    'CODE_OF_CONDUCT.md',
    ...docs.map((name) => `docs/${name}`),
  ]
  return paths
    .filter((path) => path.endsWith('.md'))
    .map((path) => {
      const text = readFileSync(join(repository, path), 'utf8')
      const { blocks, prose } = splitBlocks(path, text)
      return {
        path,
        text,
        blocks,
        links: [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!),
      }
    })
}

/** Returns the code blocks of a document in this language. */
export function blocksOf(path: string, language: string): string[] {
  const document = readDocuments().find((candidate) => candidate.path === path)
  return document!.blocks.filter((block) => block.language === language).map(({ code }) => code)
}

function splitBlocks(path: string, text: string): { blocks: CodeBlock[]; prose: string } {
  const blocks: CodeBlock[] = []
  const prose: string[] = []
  let open: { language: string; code: string[]; line: number } | null = null
  for (const [index, line] of text.split('\n').entries()) {
    const fence = /^\s*(?:```|~~~)\s*(\S*)/.exec(line)
    if (fence && open) {
      blocks.push({ ...open, code: open.code.join('\n') + '\n' })
      open = null
    } else if (fence) open = { language: fence[1]!, code: [], line: index + 2 }
    else if (open) open.code.push(line)
    else prose.push(line)
  }
  if (open) throw new Error(`${path}:${open.line - 1}: this code block is not closed.`)
  return { blocks, prose: prose.join('\n') }
}

/**
 * Returns the file of `examples/` that a block quotes, as the comment on its first line names it, and the quoted lines;
 * `null` for any other block. The tests of the example run these lines, and not those of the document.
 */
export function quotedExample({ code }: CodeBlock): { path: string; lines: string } | null {
  const [comment, path] = /^\/\/ (examples\/[\w./-]+)\n/.exec(code) ?? []
  return comment && path ? { path, lines: code.slice(comment.length) } : null
}

/** Returns the file of a link, relative to the repository root, and its heading; `null` for external links. */
export function linkTarget(from: Document, link: string): { path: string; anchor: string | null } | null {
  if (/^[a-z]+:/.test(link)) return null
  const [path = '', anchor = null] = link.split('#')
  return { path: path === '' ? from.path : join(dirname(from.path), path), anchor }
}

/** Returns the anchors of a document's headings, as GitHub renders them. */
export function anchorsOf({ text }: Document): string[] {
  return [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
}
