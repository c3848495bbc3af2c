import type { Cli } from '../cli.js'
import { EXIT } from '../exit-codes.js'

export function addVerify(cli: Cli): void {
  cli
    .command(
      'verify',
      'Says what is missing or differs in the database. Changes nothing; the exit code is 1 where it finds something.',
    )
    .action(() =>
      cli.withDatabase(async ({ store, output }) => {
        const findings = await store.verify()
        await output.items(findings.map((finding) => ({ json: { finding }, text: finding })))
        if (findings.length > 0) return EXIT.found
        output.note('All is well.')
        return EXIT.ok
      }),
    )
}
