const MAX_LENGTH = 255

// A `type` has only printable ASCII characters.
const MEDIA_TYPE =
  /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+(?: *; *[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~-]+|"(?:[^"\\]|\\.)*"))*(?= *(?:;|$))/

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
 * Returns a media type of RFC 9110 with its parameters up to the first that can't be made valid. Returns an empty text if the type
 * itself is invalid. Servers of 1.5 refuse what isn't valid.
 */
export function mediaTypeOf(text: string): string {
  const [type] = MEDIA_TYPE.exec(text.replace(LIST, '="$1"')) || ['']
  return type.length > MAX_LENGTH ? '' : type
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
