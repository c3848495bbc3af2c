import { fileURLToPath } from 'node:url'
import { createLinter, loadTextlintrc } from 'textlint'
import { beforeAll, describe, expect, it } from 'vitest'

/** Tests the prose rules of `.textlintrc.yml`: each sentence on the left broke one, and the right one replaced it. */
const rewrites: [string, string][] = [
  ['nobody reaches an object of somebody else', "Callers can't access another owner's objects."],
  ['the file that this makes there', 'the resulting tarball'],
  ['takes the clock and the records to begin with', 'accepts a clock and seed records'],
  ['With `s3Storage` none does.', '`s3Storage` is not affected.'],
  ['From 16 MiB on a file travels in parts', 'Files of 16 MiB or more are uploaded in parts'],
  ['Telling of a weakness', 'Reporting a vulnerability'],
  ['are in no language of your users', 'are not localized'],
  ['asking again is no use', 'retrying does not help'],
  [
    'How long a reservation lasts at most, `pendingTtlSeconds` says.',
    '`pendingTtlSeconds` caps how long a reservation lasts.',
  ],
  [
    'which scopes a write touched only the driver behind the store tells',
    'only the underlying driver reports which scopes a write touched',
  ],
  [
    "Who can't see the owner of a key would take it.",
    "A role that can't see a key's owner could take over the key.",
  ],
  [
    'What a signed URL is bound to, the bucket service enforces.',
    'The bucket service enforces what a signed URL is bound to.',
  ],
  ['None need be the leader.', 'No leader election is needed.'],
  ['A path that there is not, or not by this method', 'Unknown paths and methods'],
  ['100 runs belongs to the night, 20 to the day', 'Use 100 runs in nightly CI and 20 while developing.'],
  [
    "What answers can't show the suite can't hold you to.",
    "The suite only sees return values, so it can't check the rest.",
  ],
  ['Your account rests.', 'Your account is suspended.'],
  [
    'Steps in which somebody who just got an answer makes the next call',
    'Microtasks to wait for callers that join the next batch',
  ],
  [
    "Who can't be told can't be told that either.",
    'stderr is closed too, so there is nowhere left to report this.',
  ],
  ['What was answered was undone, and concerns one of them.', 'The server rolled the batch back.'],
  ['is carried by another attempt', 'is already used by another attempt'],
  ['resolveScope answered no valid scope.', 'resolveScope returned an invalid scope.'],
]

const config = fileURLToPath(new URL('../../.textlintrc.yml', import.meta.url))
let problemsOf: (text: string) => Promise<string[]>

beforeAll(async () => {
  const linter = createLinter({ descriptor: await loadTextlintrc({ configFilePath: config }) })
  problemsOf = async (text) => {
    const { messages } = await linter.lintText(`${text}\n`, 'page.md')
    return messages.map(({ message }) => message)
  }
})

describe('the prose rules', () => {
  it.each(rewrites)('reject "%s"', async (before) => {
    expect(await problemsOf(before)).not.toEqual([])
  })

  it.each(rewrites)('accept the rewrite of "%s"', async (_before, after) => {
    expect(await problemsOf(after)).toEqual([])
  })

  it('reject a phrase that is broken across two lines', async () => {
    expect(await problemsOf('It waits so\nthat the batch is full.')).toHaveLength(1)
  })

  it('reject phrases in headings, lists, links and tables', async () => {
    const page = '# Of its own\n\n- of its own\n\n[of its own](a.md)\n\n| a |\n| - |\n| of its own |'
    expect(await problemsOf(page)).toHaveLength(4)
  })

  it('accept everyday English that resembles a rejected phrase', async () => {
    const page = [
      'A signed URL writes the bytes of its own attempt.',
      'Headers of your own `fetch` are sent.',
      'A different code tells the two apart.',
      '## Where the files are',
      'The list is empty if there are none.',
      'What is guaranteed?',
      'Which adapter do you use, and why?',
    ]
    expect(await problemsOf(page.join('\n\n'))).toEqual([])
  })

  it('ignore code', async () => {
    expect(await problemsOf('Call `answers()`:\n\n```ts\nconst nobody = answers()\n```')).toEqual([])
  })

  it('reject a sentence of more than 210 characters', async () => {
    const sentence = (length: number) => `${'x'.repeat(length - 1)}.`
    expect(await problemsOf(sentence(211))).toHaveLength(1)
    expect(await problemsOf(`${sentence(210)} ${sentence(210)}`)).toEqual([])
  })
})
