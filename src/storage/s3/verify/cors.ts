import { GetBucketCorsCommand, type CORSRule } from '@aws-sdk/client-s3'
import { failureOfURL } from './failures.js'
import { attempt, inputOf, type Inspection } from './inspection.js'
import type { UrlResponse } from './signed-urls.js'

/** What a browser asks before an upload: may pages of an origin send a PUT with these headers to this URL? */
export interface Preflight {
  readonly url: string
  /** Names in lower case. */
  readonly headers: readonly string[]
}

/** Asks as a browser would, if an origin is known. Otherwise reads the rules, where the account may. */
export async function checkCORS(inspection: Inspection, preflight: Preflight): Promise<void> {
  const { origin, browserUploads } = inspection
  if (origin !== null) await sendPreflight(inspection, preflight, origin)
  else if (browserUploads) await readRules(inspection, preflight)
}

async function readRules(inspection: Inspection, { headers }: Preflight): Promise<void> {
  const { bucket, run, findings } = inspection
  const found = await attempt(
    inspection,
    () => run('verify', inputOf(inspection), (send) => send(new GetBucketCorsCommand({ Bucket: bucket }))),
    ({ code }) => {
      // Any other failure doesn't tell: the account may not read the rules, or the service keeps them in another place.
      if (code !== 'NoSuchCORSConfiguration') return
      findings.add(
        'cors',
        `Bucket "${bucket}" has no CORS rules, so browsers can't upload: set those of docs/s3.md.`,
      )
    },
  )
  if (!found) return
  const rules = found.value.CORSRules ?? []
  const ofUploads = rules.filter(({ AllowedMethods = [] }) => AllowedMethods.includes('PUT'))
  if (ofUploads.length === 0) {
    const message = `No CORS rule of bucket "${bucket}" allows uploads: add PUT to AllowedMethods.`
    return findings.add('cors', message)
  }
  const missing = ofUploads
    .map((rule) => headers.filter((name) => !allowsHeader(rule, name)))
    .reduce((one, other) => (other.length < one.length ? other : one))
  if (missing.length === 0) return
  const message = `No CORS rule of bucket "${bucket}" allows the headers of uploads: add ${missing.join(', ')} to AllowedHeaders.`
  findings.add('cors', message)
}

/** An allowed header may have one `*`, for any text. */
function allowsHeader({ AllowedHeaders = [] }: CORSRule, name: string): boolean {
  return AllowedHeaders.some((allowed) => {
    const [start = '', end] = allowed.toLowerCase().split('*')
    if (end === undefined) return start === name
    return name.length >= start.length + end.length && name.startsWith(start) && name.endsWith(end)
  })
}

async function sendPreflight(inspection: Inspection, asked: Preflight, origin: string): Promise<void> {
  const { bucket, findings, sendToURL, signal } = inspection
  const headers = {
    origin,
    'access-control-request-method': 'PUT',
    'access-control-request-headers': asked.headers.toSorted().join(','),
  }
  // Without a response, the check of uploads says why.
  const sent = await attempt(inspection, () =>
    sendToURL({ method: 'OPTIONS', url: asked.url, headers }, signal),
  )
  if (!sent) return
  const failure = failureOfURL(sent.value)
  if (failure || !allowsOrigin(sent.value, origin)) {
    const reason = failure ? ` (${failure.reason})` : ''
    const message = `Bucket "${bucket}" does not let pages of ${origin} upload: add this origin, PUT, and the headers ${asked.headers.join(', ')} to the CORS rules${reason}.`
    return findings.add('cors', message, 'origin')
  }
  const methods = namesIn(sent.value, 'access-control-allow-methods')
  if (!methods.includes('put') && !methods.includes('*')) {
    const message = `Bucket "${bucket}" does not let pages of ${origin} send a PUT: add it to the methods of the CORS rules.`
    return findings.add('cors', message)
  }
  const allowed = namesIn(sent.value, 'access-control-allow-headers')
  const missing = allowed.includes('*') ? [] : asked.headers.filter((name) => !allowed.includes(name))
  if (missing.length === 0) return
  const message = `Bucket "${bucket}" does not let pages of ${origin} send the headers of uploads: add ${missing.join(', ')} to the CORS rules.`
  findings.add('cors', message)
}

/** Returns whether a browser lets pages of an origin read a response. */
export function allowsOrigin({ headers }: UrlResponse, origin: string): boolean {
  const allowed = headers['access-control-allow-origin']
  return allowed === origin || allowed === '*'
}

function namesIn({ headers }: UrlResponse, name: string): readonly string[] {
  return (headers[name] ?? '').split(',').map((each) => each.trim().toLowerCase())
}
