import { isAttemptId } from '../attempt-ids.js'
import type { Call } from '../calls.js'
import { ManualClock } from '../clock.js'
import type { Observed } from '../outcome.js'
import { isDate } from '../is-date.js'

interface DoneCall {
  readonly call: Call
  readonly outcome: Observed
}

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/
/** The fields of results that hold what a store chooses, and what later calls pass on. */
const CHOSEN = new Set(['id', 'attemptId', 'nextCursor', 'claim'])

/** Writes the calls of a script as JavaScript to paste into a test. */
export class ScriptCode {
  readonly #lines: string[] = []
  /** The expressions of what the store chose, and the literals of what the script chose. */
  readonly #expressions = new Map<string, string>()

  moveClock(time: number): void {
    this.#lines.push(`now = T + ${time - ManualClock.START}`)
  }

  call(done: DoneCall): void {
    const name = `r${this.#lines.length + 1}`
    const code = this.#callOf(done.call)
    this.#learn(done, name)
    const isUsed = 'ok' in done.outcome && typeof done.outcome.ok === 'object' && done.outcome.ok !== null
    const failure = 'error' in done.outcome ? `.catch((error) => error) // ${done.outcome.error}` : ''
    this.#lines.push(`${isUsed ? `const ${name} = ` : ''}await ${code}${failure}`)
  }

  /** The calls of each caller, one after the other, and those of all callers at the same time. */
  concurrently(callers: readonly (readonly DoneCall[])[]): void {
    this.#lines.push('await Promise.allSettled([')
    for (const calls of callers) {
      this.#lines.push('  (async () => {')
      for (const { call } of calls) this.#lines.push(`    await ${this.#callOf(call)}.catch(() => {})`)
      this.#lines.push('  })(),')
    }
    this.#lines.push('])')
  }

  /** Returns the lines, with what they need before them. */
  text(events: boolean): string[] {
    return [
      'const T = Date.UTC(2026, 0, 1, 12)',
      'let now = T',
      'const at = (milliseconds) => new Date(T + milliseconds)',
      `const store = await createStore({ now: () => new Date(now), events: ${events} })`,
      ...this.#lines,
    ]
  }

  #callOf({ method, args }: Call): string {
    return `store.${method}(${args.map((argument) => this.#value(argument)).join(', ')})`
  }

  /** Remembers where later calls find what the store chose. What the call passed was chosen by the script. */
  #learn({ call, outcome }: DoneCall, name: string): void {
    for (const argument of call.args) this.#visit(argument, null)
    if ('ok' in outcome) this.#visit(outcome.ok, name)
  }

  #visit(value: unknown, expression: string | null, field = ''): void {
    if (typeof value === 'string') {
      const isChosen = expression === null ? isAttemptId(value) : CHOSEN.has(field)
      if (isChosen && !this.#expressions.has(value))
        this.#expressions.set(value, expression ?? JSON.stringify(value))
      return
    }
    if (typeof value !== 'object' || value === null || isDate(value)) return
    for (const [name, inner] of Object.entries(value)) {
      const step = Array.isArray(value) ? `[${name}]` : `.${name}`
      this.#visit(inner, expression === null ? null : expression + step, name)
    }
  }

  #value(value: unknown): string {
    if (typeof value === 'string') return this.#expressions.get(value) ?? text(value)
    if (typeof value === 'bigint') return `${value}n`
    if (typeof value === 'function' || typeof value === 'symbol') return `null /* ${typeof value} */`
    if (Object.is(value, -0)) return '-0'
    if (typeof value !== 'object' || value === null) return String(value)
    if (isDate(value))
      return Number.isNaN(value.getTime()) ? 'new Date(NaN)' : `at(${value.getTime() - ManualClock.START})`
    if (Array.isArray(value)) return `[${value.map((item) => this.#value(item)).join(', ')}]`
    const fields = Object.entries(value)
      .filter(([, field]) => field !== undefined)
      .map(([name, field]) => `${fieldName(name)}: ${this.#value(field)}`)
    return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`
  }
}

function fieldName(name: string): string {
  if (IDENTIFIER.test(name) && name !== '__proto__') return name
  return `[${JSON.stringify(name)}]`
}

/** Writes long texts of one character in short. */
function text(value: string): string {
  const [first = ''] = value
  const count = value.length / (first.length || 1)
  if (value.length > 40 && first.repeat(count) === value) return `${JSON.stringify(first)}.repeat(${count})`
  return JSON.stringify(value)
}
