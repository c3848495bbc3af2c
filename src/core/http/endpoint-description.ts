import type { ErrorCode } from '../errors.js'

export type JsonValue =
  string | number | boolean | null | readonly JsonValue[] | { readonly [name: string]: JsonValue }

/** A JSON Schema (2020-12), as OpenAPI 3.1 uses it. */
export type JsonSchema = { readonly [keyword: string]: JsonValue }

/** The documentation of an endpoint: its parameters and responses. */
export interface EndpointDescription {
  /** One sentence. */
  readonly summary: string
  /** Query parameters by name. */
  readonly query?: Readonly<Record<string, QueryParameter>>
  /** Schema of the JSON body. */
  readonly body?: JsonSchema
  readonly answer: DescribedAnswer
  /** In addition to those that every endpoint may return. */
  readonly errors: readonly ErrorCode[]
}

export interface QueryParameter {
  readonly description: string
  readonly required?: true
  readonly schema: JsonSchema
}

/** The success response. 204 and 302 have no body; 302 has a `Location`. */
export type DescribedAnswer =
  | { readonly status: 200 | 201; readonly description: string; readonly body: JsonSchema }
  | { readonly status: 204 | 302; readonly description: string }
