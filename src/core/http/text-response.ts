/**
 * The property of a `Response` that holds the text of its body, so bindings don't have to read it back through a stream. It is
 * a registered symbol because bindings import only types of core.
 */
const RESPONSE_TEXT = Symbol.for('@svc/db/response-text')

/** Returns a response with this text. Unlike `Response.json`, it takes a text that exists already. */
export function textResponse(text: string, init: ResponseInit): Response {
  return Object.defineProperty(new Response(text, init), RESPONSE_TEXT, { value: text })
}

type LazyResponse = new (text: string, init: ResponseInit) => Response

let lazyResponse: LazyResponse | undefined

/**
 * Like {@link textResponse}, but creates the stream of the body only for code that reads it. That takes half the time, but only
 * JavaScript code sees the body: runtimes that send a `Response` themselves would send none.
 */
export function lazyTextResponse(text: string, init: ResponseInit): Response {
  return new (lazyResponse ??= createClass())(text, init)
}

/** The members of a `Response` that are about its body. `bytes` is missing in older runtimes. */
const BODY_MEMBERS = [
  'arrayBuffer',
  'blob',
  'body',
  'bodyUsed',
  'bytes',
  'clone',
  'formData',
  'json',
  'text',
] as const

/** Creates the class at its first use, because Node loads its `Response` when it is mentioned. */
function createClass(): LazyResponse {
  class LazyTextResponse extends Response {
    readonly [RESPONSE_TEXT]: string
    #whole: Response | undefined

    constructor(text: string, init: ResponseInit) {
      super(null, init)
      this[RESPONSE_TEXT] = text
    }

    /** Returns a response with a body. All members that are about the body are those of this response. */
    static whole(response: LazyTextResponse): Response {
      return (response.#whole ??= new Response(response[RESPONSE_TEXT], response))
    }
  }

  for (const name of BODY_MEMBERS.filter((member) => member in Response.prototype)) {
    Object.defineProperty(LazyTextResponse.prototype, name, {
      get(this: LazyTextResponse) {
        const whole = LazyTextResponse.whole(this)
        const member: unknown = Reflect.get(whole, name)
        return typeof member === 'function' ? (): unknown => Reflect.apply(member, whole, []) : member
      },
    })
  }
  return LazyTextResponse
}
