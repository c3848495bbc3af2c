/** The type itself, of the characters that registered types have. */
const ESSENCE = /^[\w.+-]{1,99}\/[\w.+-]{1,99} *(;|$)/

/** A list that lacks its quotes, as in `video/webm;codecs=vp8,opus`, which recorders of browsers write. */
const LIST = /=([^"=;,]*,[^"=;]*)/g

/** Types that systems often don't know, with their extensions where those differ from the subtype. */
const TYPES =
  'image/avif image/heic image/heif image/webp text/csv text/markdown:md video/x-matroska:mkv video/quicktime:mov ' +
  'audio/mp4:m4a audio/ogg:opus application/epub+zip:epub application/x-7z-compressed:7z ' +
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document:docx ' +
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet:xlsx ' +
  'application/vnd.openxmlformats-officedocument.presentationml.presentation:pptx'

/**
 * Returns a media type with quotes where a parameter lacks them. Servers repair or drop what else isn't valid in parameters. Returns an
 * empty text if the type itself is invalid.
 */
export function mediaTypeOf(text: string): string {
  return ESSENCE.test(text) ? text.replace(LIST, '="$1"') : ''
}

/** Returns the usual type of files with the extension of a name. Returns an empty text if it isn't in the table. */
export function typeByExtension(filename: string): string {
  const [, extension] = /\.(\w+)$/.exec(filename) || []
  for (const entry of TYPES.split(' ')) {
    const [type = '', usual = type.split('/')[1]] = entry.split(':')
    if (extension && usual === extension.toLowerCase()) return type
  }
  return ''
}
