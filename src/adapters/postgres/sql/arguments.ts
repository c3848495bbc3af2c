import { isBuiltIn } from '../../../core/realms.js'
import {
  attemptId,
  type CommandOf,
  type FieldKind,
  type Fields,
  type ReadOf,
} from '../../../core/store/inputs/fields.js'
import * as inputs from '../../../core/store/inputs/index.js'
import type { QuotaLimits } from '../../../core/store/validation/checks.js'
import type { PostgresValue } from '../connection/database.js'

/** An argument of the function of a write, whose parameter is named `p_<name>`. */
export interface Argument<Command> {
  readonly name: string
  readonly type: string
  readonly valueOf: (command: Command) => unknown
}

const TYPES: Readonly<Record<Exclude<FieldKind, 'quota' | 'position' | 'list'>, string>> = {
  text: 'text',
  id: 'uuid',
  number: 'bigint',
  date: 'timestamptz',
  boolean: 'boolean',
  metadata: 'json',
}

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const NOW: Argument<{ readonly now: Date }> = { name: 'now', type: TYPES.date, valueOf: ({ now }) => now }

/** Returns an argument for each field, in order. The two limits of a quota are arguments of their own. */
function fieldsOf<List extends Fields>(list: List): readonly Argument<ReadOf<List>>[] {
  return Object.entries(list).flatMap(([field, { kind }]): Argument<Record<string, unknown>>[] => {
    if (kind === 'position' || kind === 'list') return []
    if (kind !== 'quota') {
      return [{ name: snakeCase(field), type: TYPES[kind], valueOf: (command) => command[field] }]
    }
    return (['maxBytes', 'maxFiles'] as const).map((limit) => ({
      name: snakeCase(limit),
      type: TYPES.number,
      valueOf: (command) => (command[field] as QuotaLimits)[limit],
    }))
  })
}

function argumentsOf<List extends Fields>(list: List): readonly Argument<CommandOf<List>>[] {
  return [...fieldsOf(list), NOW]
}

const CHANGE_ARGUMENTS = fieldsOf(inputs.CHANGES).flatMap(
  ({ name, type, valueOf }): Argument<inputs.UpdateCommand>[] => {
    const given = ({ changes }: inputs.UpdateCommand) =>
      valueOf(changes as Required<inputs.UpdateCommand['changes']>)
    return [
      { name: `sets_${name}`, type: TYPES.boolean, valueOf: (command) => given(command) !== undefined },
      { name, type, valueOf: (command) => given(command) ?? null },
    ]
  },
)

export const ARGUMENTS = {
  reserve: argumentsOf(inputs.RESERVE),
  // The number of files never grows by a confirm.
  confirm: argumentsOf(inputs.CONFIRM).filter(({ name }) => name !== 'max_files'),
  setUploadId: argumentsOf(inputs.SET_UPLOAD_ID),
  release: argumentsOf(inputs.RELEASE),
  remove: argumentsOf(inputs.REMOVE),
  reject: argumentsOf(inputs.REJECT),
  update: [...fieldsOf(inputs.UPDATE), ...CHANGE_ARGUMENTS, NOW],
  transfer: argumentsOf(inputs.TRANSFER),
  adopt: argumentsOf({ id: attemptId, ...inputs.ADOPT }),
}

export const parameters = (list: readonly Argument<never>[]) =>
  list.map(({ name, type }) => `p_${name} ${type}`).join(', ')

/** Whether each write of a batch has a value of its own. All have the same scope. */
const isOfOne = ({ name }: Pick<Argument<never>, 'name'>) => name !== 'scope'

/** Returns the columns of a batch's writes. An argument that two calls share is one column. */
export const batchColumns = (list: readonly Argument<never>[]) =>
  [...new Set(list.filter(isOfOne).map(({ name, type }) => `${name} ${type}`))].join(', ')

export const argumentsIn = (row: string, list: readonly Argument<never>[]) =>
  list.map(({ name }) => argumentIn(row, name)).join(', ')
export const argumentIn = (row: string, name: string) => (name === 'scope' ? 'p_scope' : `${row}.${name}`)

export function valuesOf<Command>(list: readonly Argument<Command>[], command: Command): PostgresValue[] {
  return list.map(({ valueOf }) => {
    const value = valueOf(command)
    if (typeof value !== 'object' || value === null) return value as PostgresValue
    return isBuiltIn(value, 'Date') ? value.toISOString() : JSON.stringify(value)
  })
}

/** Returns a write of a batch as JSON has it. Dates become ISO 8601 strings. */
export function batchedWrite<Command>(
  list: readonly Argument<Command>[],
  command: Command,
): Record<string, unknown> {
  const write: Record<string, unknown> = {}
  for (const argument of list) if (isOfOne(argument)) write[argument.name] = argument.valueOf(command)
  return write
}
