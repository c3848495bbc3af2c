import type { Cli } from '../cli.js'
import { EXIT } from '../exit.js'

export function addVerify(cli: Cli): void {
  cli
    .command(
      'verify',
      'Reports what is missing or different in the schema. Changes nothing. Exits with 1 if it finds problems.',
    )
    .action(() =>
      cli.withDatabase(async ({ store, advice, output }) => {
        const findings = await store.verify()
        await output.items(findings.map((finding) => ({ json: { finding }, text: finding })))
        for (const sentence of await advice()) output.note(sentence)
        if (findings.length > 0) return EXIT.found
        output.note('No problems found.')
        return EXIT.ok
      }),
    )
}
