import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { isObject, type OptionChecks } from '../../core/option-checks.js'

/** Returns a client that can run the commands of this copy of the SDK. @throws TypeError that names the option. */
export function checkClient(checks: OptionChecks, option: string, value: unknown): S3Client {
  const parts = isObject(value) ? (value as Partial<S3Client>) : {}
  if (typeof parts.send !== 'function' || !isObject(parts.config) || !isObject(parts.middlewareStack)) {
    throw checks.error(`${option} must be an S3Client from @aws-sdk/client-s3.`)
  }
  const client = value as S3Client
  const reason = misfitOf(client)
  if (reason === null) return client
  const [theirs, ours] = [copyOf(client.constructor as typeof S3Client), copyOf(S3Client)]
  throw checks.error(
    `${option} must come from the copy of @aws-sdk/client-s3 that this library uses (got one of ${theirs}; the library uses ${ours}). ` +
      `Install one version: see docs/s3.md. (${reason})`,
  )
}

/** Returns why the client can't run commands of this copy of the SDK, or `null`. Copies of similar versions usually fit. */
function misfitOf({ config, middlewareStack }: S3Client): string | null {
  try {
    new PutObjectCommand({ Bucket: 'b', Key: 'k' }).resolveMiddleware(middlewareStack, config, {})
  } catch (error) {
    return String(error)
  }
  // Commands of 3.729 and later call it.
  const name = 'requestChecksumCalculation'
  const isMissing = !config[name] && new S3Client({ region: 'us-east-1' }).config[name]
  return isMissing ? `the config of the client has no ${name}` : null
}

interface NodeProcess {
  getBuiltinModule?(name: 'node:module'): { createRequire(path: string): (name: string) => unknown }
}

/** Describes the copy of the SDK that has a class, by its version and its folder where they can be found out. */
function copyOf(Client: typeof S3Client): string {
  const folder = folderOf(Client)
  if (folder === null) return 'an unknown version'
  const { process } = globalThis as { readonly process?: NodeProcess }
  try {
    const load = process!.getBuiltinModule!('node:module').createRequire(`${folder}/`)
    const { version } = load('./package.json') as { readonly version: string }
    return `${version} in ${folder}`
  } catch {
    // Not Node, or before 20.16.
    return `the one in ${folder}`
  }
}

/** Returns the folder of a copy, which no export tells. Takes it from the stack of an error inside its constructor. */
function folderOf(Client: typeof S3Client): string | null {
  let stack = ''
  try {
    new Client({
      get requestHandler(): never {
        const error = new Error('stop')
        stack = error.stack ?? ''
        throw error
      },
    })
  } catch {
    // As intended.
  }
  // Without the URL and the words that may come before the path.
  const call = stack.split('\n').find((line) => line.includes('getRuntimeConfig')) ?? ''
  const path = call.slice(call.indexOf('(') + 1).replace('file://', '')
  const end = path.search(/[\\/]dist-(?:cjs|es)[\\/]/)
  return end === -1 ? null : path.slice(0, end)
}
