import { InvalidArgumentError, Option, type Command } from 'commander'

export interface EndpointOption {
  readonly s3Endpoint?: string
}

/** The part of a bucket that a job works on. */
export interface BucketOptions extends EndpointOption {
  readonly bucket: string
  readonly keyPrefix?: string
  readonly after?: string
}

export const endpointOption = () =>
  new Option('--s3-endpoint <url>', 'URL of a service other than AWS, addressed with path-style URLs')

export function withBucketOptions(command: Command): Command {
  return command
    .requiredOption('--bucket <name>', 'bucket to list')
    .option('--key-prefix <prefix>', 'only keys that start with this text (default: all)', keyText)
    .option('--after <key>', 'only keys after this one, in byte order (default: from the start)', keyText)
    .addOption(endpointOption())
}

/** Parses a key or the start of one, within the limit of S3. */
function keyText(text: string): string {
  const size = Buffer.byteLength(text)
  if (size === 0 || size > 1024) throw new InvalidArgumentError('Must have 1 to 1024 bytes of UTF-8.')
  return text
}
