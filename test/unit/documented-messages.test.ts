import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const repository = fileURLToPath(new URL('../..', import.meta.url))

/** Reads all source files of a folder, with string literals that continue on the next line joined. */
function sourceOf(folder: string): string {
  return readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(repository, folder, name), 'utf8'))
    .join('\n')
    .replaceAll(/['`] \+\n\s*['`]/g, '')
}

/** Returns the parts of the messages in the error table of a page. `…` stands for a left out part. */
function documentedMessages(page: string): string[] {
  const [, table = ''] = readFileSync(join(repository, page), 'utf8').split('| `message`')
  const rows = table.split('\n\n')[0]!.split('\n').slice(2)
  return rows
    .map((row) => row.split('|')[1]!)
    .flatMap((cell) => cell.split(/…|(?<=\.) (?=[A-Z])/))
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

it.each([
  ['docs/postgres.md', 'src/adapters/postgres'],
  ['docs/mongo.md', 'src/adapters/mongo'],
])('the error table of %s has messages of the adapter', (page, folder) => {
  const source = [folder, 'src/adapters/shared', 'src/core'].map(sourceOf).join('\n')
  const messages = documentedMessages(page)
  expect(messages.length).toBeGreaterThan(5)
  expect(messages.filter((message) => !source.includes(message))).toEqual([])
})
