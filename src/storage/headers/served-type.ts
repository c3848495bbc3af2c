const UNKNOWN_TYPE = 'application/octet-stream'

/**
 * A single media type, whose parameters can't hide another one. Browsers take the last type of a comma-separated list, and
 * some end the type at a parenthesis.
 */
const SINGLE_TYPE = /^([\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+) *(?:;[^,]*)?$/

const JAVASCRIPT =
  /^(?:application\/(?:x-)?(?:java|ecma)script|text\/(?:(?:x-)?(?:java|ecma)script|javascript1\.[0-5]|jscript|livescript))$/

const XML = /^(?:(?:text|application)\/xml|text\/xsl|.+\+xml)$/

/**
 * Returns the type under which a file is sent from the origin of the application. Types that browsers execute become
 * `application/octet-stream`, so that an uploaded file can't be the source of a script, even where a policy permits scripts
 * of the same origin. SVG keeps its type, because images need it. The sandbox in its headers keeps it from running scripts.
 */
export function servedType(contentType: string | null): string | null {
  if (contentType === null) return null
  const essence = SINGLE_TYPE.exec(contentType)?.[1]?.toLowerCase()
  return essence === undefined || isExecutable(essence) ? UNKNOWN_TYPE : contentType
}

function isExecutable(essence: string): boolean {
  if (essence === 'image/svg+xml') return false
  return essence === 'text/html' || JAVASCRIPT.test(essence) || XML.test(essence)
}
