import type { Cli } from '../cli.js'
import { printObject } from './changed-object.js'

interface TransferOptions {
  readonly from: string
  readonly to: string
}

export function addTransfer(cli: Cli): void {
  cli
    .command(
      'transfer',
      'Gives an object to another scope. No quota applies. An upload in progress at the key ends. ' +
        'Exits with 1 if neither scope has the object.',
    )
    .argument('<bucket>', 'bucket of the object')
    .argument('<key>', 'key of the object')
    .requiredOption('--from <scope>', 'the owner')
    .requiredOption('--to <scope>', 'the new owner')
    .action((bucket: string, key: string, { from, to }: TransferOptions) =>
      cli.withDatabase(async ({ store, output }) => {
        const object = await store.transfer({ bucket, key, from, to })
        return printObject(output, object, ({ scope }) => `now belongs to ${scope}`)
      }),
    )
}
