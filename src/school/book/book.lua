-- book.lua: the pages of `make book`, a filter for pandoc. It writes them into the folder $BOOK, in
-- which book.sh has put the pages to play with. $FILES names the exercises' pages and the figures.
-- $ANSWERS: 1 keeps the answers of TEACHING.md.
local out, with_answers = os.getenv 'BOOK', os.getenv 'ANSWERS' == '1'
local format = 'gfm-tex_math_dollars'

local function refuse(...)
  io.stderr:write('book: ', string.format(...), '\n')
  os.exit(2)
end
if not pandoc.write then refuse 'this pandoc is too old; install pandoc 2.17 or newer' end

local function read(path)
  local file = io.open(path, 'rb')
  local text = file and file:read 'a' -- a folder opens, but has no text
  if file then file:close() end
  return text
end
local function text_of(path)
  return read(path) or refuse('%s: cannot be read', path)
end
local function write(name, text)
  local file = io.open(out .. '/' .. name, 'wb')
  if not (file and file:write(text) and file:close()) then
    refuse('%s/%s: cannot be written', out, name)
  end
end
local function lines_of(text)
  return (text:gsub('\n$', '') .. '\n'):gmatch '([^\n]*)\n'
end
local function escaped(text)
  local entities = { ['&'] = '&amp;', ['<'] = '&lt;', ['>'] = '&gt;', ['"'] = '&quot;' }
  return (text:gsub('[&<>"]', entities))
end
local function html_of(blocks)
  return pandoc.write(pandoc.Pandoc(blocks), 'html')
end
local function raw(...)
  return pandoc.RawBlock('html', string.format(...))
end

-- The lines of a file.
local lines_read = {}
local function lines_in(path)
  local lines = lines_read[path]
  if lines then return lines end
  lines = {}
  for line in lines_of(text_of(path)) do lines[#lines + 1] = line end
  lines_read[path] = lines
  return lines
end
-- What a source file declares, by name, and under a stage's number what its heading is above.
local declared = {}
local function declarations(path)
  if declared[path] then return declared[path] end
  local all = {}
  local rows = io.popen("awk -f src/text/declarations.awk '" .. path:gsub("'", "'\\''") .. "'")
  for row in rows:lines() do
    local kind, stage, above, line, last, name = row:match '^(%a+) (%S+) (%d+) %d+ (%d+) (%d+) (.*)'
    local one = { above = tonumber(above), line = tonumber(line), last = tonumber(last) }
    if kind ~= 'stage' then
      all[name] = all[name] or {}
      table.insert(all[name], one)
      all[tonumber(stage) or '-'] = one
    end
  end
  rows:close()
  declared[path] = all
  return all
end
-- The declaration of `name`, of several the one that is nearest to the stage.
local function declaration_of(path, name, stage)
  local all = declarations(path)
  local here, best = all[stage] and all[stage].above or 0, nil
  for _, one in ipairs(all[name] or {}) do
    if not best or math.abs(one.line - here) < math.abs(best.line - here) then best = one end
  end
  return best
end
-- Lines of a source file. Line 7 has the id PREFIX-7.
local function source_block(path, prefix, first, last)
  local lines = lines_in(path)
  local languages = { cu = 'cpp', cpp = 'cpp', h = 'cpp' }
  local language = languages[path:match '%.(%a+)$'] or 'default'
  return pandoc.CodeBlock(table.concat(lines, '\n', first or 1, last or #lines),
    pandoc.Attr(prefix, { language, 'numberLines' }, { startFrom = tostring(first or 1) }))
end

-- The pages, in their order. Each has file, title, path (of its text), text, and perhaps stage.
local pages, page_of, index = {}, {}, {}
local function add(page)
  pages[#pages + 1] = page
  page_of[page.path] = page_of[page.path] or page
  return page
end
local function add_text(path, file, text, part)
  text = text or text_of(path)
  local title, rest = text:match '^#+ ([^\n]*)\n(.*)'
  title = title and title:gsub('`', '') or path
  return add { path = path, file = file, title = title, text = rest or text, part = part }
end
local function add_walkthrough()
  local chapter, fenced = {}, false
  local function done()
    local text = table.concat(chapter, '\n')
    local stage = text:match '^## Stage (%d+)'
    local slug = text:match '^## ([^\n]*)'
    slug = slug and slug:lower():gsub('[^%w ]', ''):gsub(' ', '-')
    local file = stage and 'stage-' .. stage or slug or 'index'
    local page = add_text('walkthrough.md', file .. '.html', text .. '\n', 'Walkthrough')
    page.stage = tonumber(stage)
    if slug then page_of['walkthrough.md#' .. slug] = page end
    chapter = {}
  end
  local quoted
  for line in lines_of(text_of 'walkthrough.md') do
    if line:match '^```' then fenced = not fenced end
    if not fenced and line:match '^## ' then done() end
    -- The file that an excerpt quotes, which pandoc would drop, with the first line quoted.
    if quoted then
      local from = 1
      for number, there in ipairs(lines_in(quoted)) do
        if there == line then from = number break end
      end
      local link = string.format('[%s, line %d](%s#L-%d)', quoted, from, quoted, from)
      table.insert(chapter, link .. '\n\n```c++')
    end
    quoted = line:match '^```c%+%+ (%S+)$'
    if not quoted then table.insert(chapter, line) end
  end
  done()
end

-- TEACHING.md without its folded answers, what its commands print, and quoted solutions.
local function without_answers(path)
  local kept, number, hidden, fence = {}, 0, false, nil
  for line in lines_of(text_of(path)) do
    number = number + 1
    local ends = not fence and line:match '^</details>'
    if line:match '^```' then
      fence = not fence and line or nil
    elseif not fence and line:match '^<details' then
      if hidden then refuse('%s:%d: a folded answer begins in another one', path, number) end
      hidden = true
      kept[#kept + 1] = '*The answer is left out.*'
    elseif not fence and line:match '</?details' and not (ends and hidden) then
      refuse('%s:%d: a folded answer must begin and end a line of its own', path, number)
    end
    if fence and line:match '^edits of exercises/solutions' then
      kept[#kept + 1] = '(left out: it quotes a solution)'
      fence = 'quote'
    end
    local output = fence == '```console' and not line:match '^```' and not line:match '^%$ '
    if not (hidden or output or fence == 'quote') then kept[#kept + 1] = line end
    if ends then hidden = false end
  end
  if hidden or fence then refuse('%s: its last folded answer or fence does not end', path) end
  return table.concat(kept, '\n') .. '\n'
end

local function add_exercises()
  add_text('exercises/README.md', 'exercises.html', nil, 'Exercises')
  for path, name in os.getenv('FILES'):gmatch '(exercises/(%S+)/README.md)' do
    add_text(path, 'exercise-' .. name .. '.html', nil, 'Exercises')
  end
  local path = 'exercises/TEACHING.md'
  local text = not with_answers and without_answers(path) or nil
  add_text(path, 'teaching.html', text, 'For lecturers')
end
local function add_figures()
  local text = {}
  for path in os.getenv('FILES'):gmatch 'figures/%S+%.svg' do
    local described = read(path):match '<desc>(.-)</desc>' or path
    text[#text + 1] = string.format('![%s](%s)\n', described, path)
  end
  add_text('figures', 'figures.html', '# Figures\n' .. table.concat(text, '\n'), 'For lecturers')
end

local copied = {}
local is_copied = { svg = true, png = true, jpg = true, pdf = true, ipynb = true }
local function copy(path)
  local to = 'files/' .. path:gsub('/', '-')
  if not copied[path] then write(to, read(path)) end
  copied[path] = true
  return to
end
-- Where in the book a link of a page leads. A linked file gets a page of its own.
local function resolved(page, link)
  if link:match '^%a[%w+.-]*:' then return link end
  local path, fragment = link:match '^([^#]*)(.*)$'
  path = path == '' and page.path or (page.path:match '^(.*/)' or '') .. path
  repeat
    local steps
    path, steps = path:gsub('[^/]+/%.%./', '', 1)
  until steps == 0
  path = path:gsub('/$', '')
  if path:match '^exercises/solutions' or path:match 'wrong%.txt$' then
    refuse('%s links to %s, which a book must not show', page.path, link)
  end
  if page_of[path .. fragment] then return page_of[path .. fragment].file end
  if path == page.path then return fragment end
  if page_of[path] then return page_of[path].file .. fragment end
  local text = read(path)
  if not text then refuse('%s links to %s, which is not a file', page.path, link) end
  if is_copied[path:match '%.(%a+)$'] then return copy(path) end
  local file = path:gsub('/', '-') .. '.html'
  if path:match '%.md$' then
    add_text(path, file)
  else
    add { path = path, file = file, title = path, source = lines_in(path) }
  end
  return file .. fragment
end

local function console(code)
  local shown, continued = {}, false
  for line in lines_of(code) do
    local typed = continued or line:match '^%$ '
    shown[#shown + 1] = typed and '<b>' .. escaped(line) .. '</b>' or escaped(line)
    continued = typed and line:match '\\$'
  end
  return raw('<pre class="console"><code>%s</code></pre>', table.concat(shown, '\n'))
end
local function figure(page, image)
  local file, alt = resolved(page, image.src), escaped(pandoc.utils.stringify(image.caption))
  local svg = read(out .. '/' .. file) or ''
  local size = svg:match '<svg[^>]*(width="%d+" height="%d+")' or ''
  return raw('<p class="figure"><a href="%s"><img src="%s" alt="%s" %s></a></p>',
    file, file, alt, size)
end
-- What a link to source names: the path, the name and its declaration.
local function source_of(page, link)
  local path, code = link.target, link.content[1]
  local name = code and code.t == 'Code' and code.text
  local found = name and read(path) and declaration_of(path, name, page.stage)
  if found then return path, name, found end
end
-- The declarations that a chapter asks the reader to look at, folded, for the margin.
local function aside(page, paragraph)
  local html = {}
  paragraph:walk { Link = function(link)
    local path, name, found = source_of(page, link)
    if not path then return end
    local code = source_block(path, name, found.above, found.last)
    html[#html + 1] = string.format([[<details><summary>Source: <code>%s</code></summary>
%s<p><a href="%s#L-%d">%s, line %d</a></p></details>]],
      name, html_of { code }, resolved(page, path), found.line, path, found.line)
  end }
  return raw('<aside class="source" aria-label="Source">%s</aside>', table.concat(html))
end
local function player(page)
  local file = 'players/stage-' .. tostring(page.stage) .. '.html'
  local there = io.open(out .. '/' .. file)
  if not there then return end
  there:close()
  local what = escaped('one block of ' .. page.title:gsub('Stage', 'stage'):gsub(':', ','))
  return raw([[<section class="player" id="play"><h2>Play it</h2>
<iframe src="%s" title="Player: %s, step by step" loading="lazy"></iframe>
<p class="printed">The web page has a player here: %s, step by step.</p>
<p class="alone"><a href="%s">Open the player alone</a> ·
<a href="lesson.html#stage=%d">Open the whole ladder</a></p></section>]],
    file, what, what, file, page.stage)
end

-- Names in a chapter that its stage's source declares lead there, once each.
local function link_names(page, doc)
  local seen, source = {}, 'gemm_steps.cu'
  return doc:walk {
    Link = function(link)
      local _, name = source_of(page, link)
      if name then seen[name] = true end
    end,
  }:walk {
    traverse = 'topdown',
    Header = function(header) return header, false end,
    Link = function(link) return link, false end,
    Code = function(code)
      local found = page.stage and not seen[code.text] and
        declaration_of(source, code.text, page.stage)
      if not found then return end
      seen[code.text] = true
      return pandoc.Link({ code }, string.format('%s#L-%d', source, found.line))
    end,
  }
end

-- The words of a page for the search, one entry for each anchor. Folded answers to predictions are
-- left out, because the search shows what it finds.
local function index_blocks(page, blocks)
  local entry, answer = nil, false
  local function begin(id, heading)
    entry = { page.file, id, page.title, heading, {} }
    index[#index + 1] = entry
  end
  begin('', '')
  for _, block in ipairs(blocks) do
    local html = block.t == 'RawBlock' and block.text or ''
    local first = block.t == 'Para' and block.content[1]
    if html:match '^<details>' then answer = html:match '<summary>Answer' end
    if block.t == 'Header' then begin(block.identifier, pandoc.utils.stringify(block)) end
    if first and first.t == 'Span' then begin(first.identifier, pandoc.utils.stringify(first)) end
    if html ~= '' then block = pandoc.Plain(html:gsub('<[^>]*>', '')) end
    if not answer then entry[5][#entry[5] + 1] = block end
    if html:match '</details>' then answer = false end
  end
end
local function json(text)
  return '"' .. text:gsub('[\0-\32\127]+', ' '):gsub('[\\"]', '\\%0') .. '"'
end
local function index_script()
  local entries = {}
  for number, entry in ipairs(index) do
    if type(entry[5]) == 'table' then entry[5] = pandoc.write(pandoc.Pandoc(entry[5]), 'plain') end
    for place = 1, 5 do entry[place] = json(entry[place]) end
    entries[number] = '[' .. table.concat(entry, ',') .. ']'
  end
  return 'bookIndex = [\n' .. table.concat(entries, ',\n') .. '\n];\n'
end

-- The blocks of a page, before its links are resolved.
local function parsed(page)
  local doc, anchors = pandoc.read(page.text, format), {}
  for place, block in ipairs(doc.blocks) do
    -- "**The idea.** ..." begins a part of a chapter.
    local first = block.t == 'Para' and block.content[1]
    if first and first.t == 'Strong' then
      local id = pandoc.utils.stringify(first):lower():gsub('[^%w ]', ''):gsub(' ', '-')
      anchors[id] = (anchors[id] or 0) + 1
      if anchors[id] > 1 then id = id .. '-' .. anchors[id] end
      block.content[1] = pandoc.Span({ first }, pandoc.Attr(id))
      doc.blocks[place] = block
    end
  end
  return page.part == 'Walkthrough' and link_names(page, doc) or doc
end

-- The list of the pages, on its own or beside the page `current`.
local function contents(current)
  local html = {}
  for _, part in ipairs { 'Walkthrough', 'Exercises', 'For lecturers' } do
    local open = not current or current.part == part or part == 'Walkthrough'
    local opening = '<details%s><summary>%s</summary><ul>'
    html[#html + 1] = string.format(opening, open and ' open' or '', part)
    for _, page in ipairs(pages) do
      local here = page == current and ' aria-current="page"' or ''
      local item = string.format('<li><a href="%s"%s>%s</a></li>', page.file, here,
        escaped(page.title))
      if page.part == part then html[#html + 1] = item end
    end
    html[#html + 1] = '</ul></details>'
  end
  return table.concat(html, '\n')
end

local function rendered(page)
  if page.source then
    for from = 1, #page.source, 40 do
      local text = table.concat(page.source, ' ', from, math.min(from + 39, #page.source))
      index[#index + 1] = { page.file, 'L-' .. from, page.title, 'line ' .. from, text }
    end
    return html_of { raw('<p><a href="%s" download>The file itself</a></p>', copy(page.path)),
      source_block(page.path, 'L') }
  end
  local doc = parsed(page)
  index_blocks(page, doc.blocks)
  if page.part == 'Walkthrough' and not (doc.blocks[1] and doc.blocks[1].t == 'Para') then
    refuse('%s: "%s" does not begin with a paragraph', page.path, page.title)
  end
  local play = player(page)
  if page.stage then doc.blocks:insert(2, aside(page, doc.blocks[1])) end
  if page == pages[1] then
    doc.blocks:insert(2, raw([[<p><a href="lesson.html">The whole ladder, to play with</a></p>
<div class="contents" id="contents">%s</div>]], contents()))
  elseif play then
    doc.blocks[1].content:extend { pandoc.Space(), pandoc.Link('Play it, step by step.', '#play') }
  end
  doc = doc:walk {
    Link = function(link)
      local _, _, found = source_of(page, link)
      link.target = resolved(page, link.target) .. (found and '#L-' .. found.line or '')
      return link
    end,
    Para = function(para)
      local only = #para.content == 1 and para.content[1]
      if only and only.t == 'Image' then return figure(page, only) end
    end,
    CodeBlock = function(block)
      if block.classes[1] == 'console' then return console(block.text) end
    end,
    Table = function(block) return pandoc.Div({ block }, pandoc.Attr('', { 'scroll' })) end,
  }
  doc.blocks:extend { play }
  return html_of(doc.blocks)
end

local function step(page, rel, word)
  if not (page and page.part) then return '<span></span>' end
  return string.format('<a rel="%s" href="%s"><small>%s</small> %s</a>',
    rel, page.file, word, escaped(page.title))
end

function Pandoc()
  local template = text_of 'src/school/book/book.html'
  add_walkthrough()
  add_exercises()
  add_figures()
  local number = 1
  while pages[number] do -- rendering a page adds those that it links to
    local page = pages[number]
    local body = rendered(page)
    write(page.file, (template:gsub('{{(%w+)}}', {
      title = escaped(page.title),
      body = body,
      contents = contents(page),
      kind = page.source and 'listing' or 'text',
      previous = page.part and step(pages[number - 1], 'prev', '← Previous') or '',
      next = page.part and step(pages[number + 1], 'next', 'Next →') or '',
    })))
    number = number + 1
  end
  write('index.js', index_script())
  return pandoc.Pandoc {}
end
