import express5 from 'express'
import express4 from 'express4'

export type Express = typeof express5
export type App = ReturnType<Express>

export interface ExpressVersion {
  readonly name: string
  readonly express: Express
  /** Wildcard for the rest of a path in a route. */
  readonly rest: string
}

/** The tests use the types of Express 5. `test/types` checks the binding against the types of both versions. */
export const versions: readonly ExpressVersion[] = [
  { name: 'Express 4', express: express4 as unknown as Express, rest: '*' },
  { name: 'Express 5', express: express5, rest: '*rest' },
]
