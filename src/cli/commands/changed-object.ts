import type { StorageObject } from '../../index.js'
import { EXIT, type ExitCode } from '../exit.js'
import { printable } from '../output/format.js'
import type { Output } from '../output/output.js'

/** Prints the object that a command changed, or that there is none. */
export async function printObject(
  output: Output,
  object: StorageObject | null,
  state: (object: StorageObject) => string,
): Promise<ExitCode> {
  if (object === null) {
    output.note('There is no such object.')
    return EXIT.found
  }
  const name = `${object.bucket}/${object.key}`
  await output.items([{ json: object, text: printable(`${name} ${state(object)}.`) }])
  return EXIT.ok
}
