import { attemptId, type CommandOf, type FieldKind, type Fields } from '../../../core/store/inputs/fields.js'
import {
  ADOPT,
  CHANGES,
  CONFIRM,
  RELEASE,
  REMOVE,
  RESERVE,
  SET_UPLOAD_ID,
  TRANSFER,
  UPDATE,
  type UpdateCommand,
} from '../../../core/store/inputs/index.js'
import type { QuotaLimits } from '../../../core/store/validation/quota.js'
import type { PostgresValue } from '../connection/database.js'

/** An argument of the function of a write, whose parameter is named `p_<name>`. */
export interface Argument<Command> {
  readonly name: string
  readonly type: string
  /** Returns the value as JSON would have it. */
  readonly valueOf: (command: Command) => unknown
}

const TYPES: Readonly<Record<Exclude<FieldKind, 'quota' | 'position'>, string>> = {
  text: 'text',
  id: 'uuid',
  number: 'bigint',
  date: 'timestamptz',
  boolean: 'boolean',
  metadata: 'json',
}

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Returns the arguments of a write in the order of its fields. The two limits of a quota are arguments of their own. */
function argumentsOf<List extends Fields>(list: List): readonly Argument<CommandOf<List>>[] {
  const fields = Object.entries(list).flatMap(([field, { kind }]): Argument<Record<string, unknown>>[] => {
    if (kind === 'position') return []
    if (kind !== 'quota') {
      return [{ name: snakeCase(field), type: TYPES[kind], valueOf: (command) => command[field] }]
    }
    return (['maxBytes', 'maxFiles'] as const).map((limit) => ({
      name: snakeCase(limit),
      type: TYPES.number,
      valueOf: (command) => (command[field] as QuotaLimits)[limit],
    }))
  })
  return [...fields, { name: 'now', type: TYPES.date, valueOf: ({ now }) => now }]
}

export const RESERVE_ARGUMENTS = argumentsOf(RESERVE)
/** The number of files never grows by a confirm. */
export const CONFIRM_ARGUMENTS = argumentsOf(CONFIRM).filter(({ name }) => name !== 'max_files')
export const SET_UPLOAD_ID_ARGUMENTS = argumentsOf(SET_UPLOAD_ID)
export const RELEASE_ARGUMENTS = argumentsOf(RELEASE)
export const REMOVE_ARGUMENTS = argumentsOf(REMOVE)
export const TRANSFER_ARGUMENTS = argumentsOf(TRANSFER)
export const ADOPT_ARGUMENTS = argumentsOf({ id: attemptId, ...ADOPT })

/** A field that is not to be set keeps its value, whatever its own argument is. */
export const UPDATE_ARGUMENTS: readonly Argument<UpdateCommand>[] = [
  ...argumentsOf(UPDATE),
  ...argumentsOf(CHANGES).flatMap(({ name, type, valueOf }) =>
    name === 'now'
      ? []
      : [
          {
            name: `sets_${name}`,
            type: TYPES.boolean,
            valueOf: ({ changes }: UpdateCommand) => valueOf(changes as never) !== undefined,
          },
          { name, type, valueOf: ({ changes }: UpdateCommand) => valueOf(changes as never) ?? null },
        ],
  ),
]

/** Returns the parameters of a function that takes these arguments. */
export const parameters = (list: readonly Argument<never>[]) =>
  list.map(({ name, type }) => `p_${name} ${type}`).join(', ')

/** Returns the columns of a type or recordset with these arguments. */
export const columns = (list: readonly Argument<never>[]) =>
  list.map(({ name, type }) => `${name} ${type}`).join(', ')

/** Returns the arguments as values of a statement. */
export function valuesOf<Command>(list: readonly Argument<Command>[], command: Command): PostgresValue[] {
  return list.map(({ valueOf }) => {
    const value = valueOf(command)
    if (value instanceof Date) return value.toISOString()
    return typeof value === 'object' && value !== null ? JSON.stringify(value) : (value as PostgresValue)
  })
}

/** Returns the arguments by name, for JSON. */
export function recordOf<Command>(
  list: readonly Argument<Command>[],
  command: Command,
): Record<string, unknown> {
  const record: Record<string, unknown> = {}
  for (const { name, valueOf } of list) record[name] = valueOf(command)
  return record
}
