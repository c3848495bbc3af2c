import type { ErrorCode } from '../errors.js'

export type JsonValue =
  string | number | boolean | null | readonly JsonValue[] | { readonly [name: string]: JsonValue }

/** A schema in the words of JSON Schema 2020-12, which are OpenAPI 3.1's. */
export type JsonSchema = { readonly [keyword: string]: JsonValue }

/** What an endpoint takes and answers, for whoever calls it. It stands beside the endpoint's row in the router's table. */
export interface EndpointDescription {
  /** A sentence. */
  readonly summary: string
  /** Parameters of the query, by name. */
  readonly query?: Readonly<Record<string, QueryParameter>>
  /** Of the JSON body. */
  readonly body?: JsonSchema
  readonly answer: DescribedAnswer
  /** Beside those that every endpoint may answer: `UNAUTHORIZED`, `INTERNAL_ERROR` and `DATABASE_UNAVAILABLE`. */
  readonly errors: readonly ErrorCode[]
}

export interface QueryParameter {
  readonly description: string
  readonly required?: true
  readonly schema: JsonSchema
}

/** Without a body only 204. */
export type DescribedAnswer =
  | { readonly status: 200 | 201; readonly description: string; readonly body: JsonSchema }
  | { readonly status: 204; readonly description: string }
