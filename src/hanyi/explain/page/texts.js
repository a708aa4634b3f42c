const TEXTS = {
  en: {
    lead: "Look inside a translation: what the model read, weighed and dropped.",
    language: "Language of this page",
    source: "Text to translate",
    placeholder: "Type a sentence, then press Enter",
    examples: "Try",
    beams: "Beams",
    translate: "Translate",
    working: "Translating…",
    looking: "Looking inside…",
    greedyHad: (text) => `Greedy search, which streams, wrote: ${text}`,
    unmet: (terms) => `Translated without ${terms}.`,
    cut: "The translation is cut at the limit of its length.",
    attention: "Where it looked",
    attentionAbout: "Each token gathers what it needs from others. Point at a token, or move with the arrow keys, to see what it attended to. Each small map is one head; the mean of all comes first.",
    kind: "Kind of attention",
    layer: "Layer",
    head: "Head",
    map: "Map of attention",
    cross: "Cross",
    encoder: "Encoder",
    decoder: "Decoder",
    mean: "mean",
    layerNumber: (n) => `Layer ${n}`,
    headNumber: (n) => `Head ${n}`,
    queries: { cross: "Written", encoder: "Read", decoder: "Written" },
    keys: { cross: "looked at what was read", encoder: "looked at what was read", decoder: "looked at what stood before" },
    looksAt: (token, list) => `${token} ← ${list}`,
    isReadBy: (token, list) => `${token} → ${list}`,
    mapAbout: (kind, rows, columns) => `${kind} attention, ${rows} rows over ${columns} columns`,
    steps: "Token by token",
    stepsAbout: "How likely each token was after those before it, and what else could have come.",
    token: "Token",
    probability: "Probability",
    instead: "Instead",
    rank: (n) => `no. ${n}`,
    best: "The best of the beam",
    bestAbout: "Ranked by score: log probability divided by a norm of the length. Choose one to find it in the tree.",
    translation: "Translation",
    score: "Score",
    logProb: "Log probability",
    unfinished: "cut",
    showInTree: (text) => `Show in the tree: ${text}`,
    tree: "The search",
    treeAbout: "From left to right, one token a step. The likeliest beginnings keep a place of the beam; others are dropped. Arrow keys walk through the tree.",
    showDropped: "Show what was dropped",
    fates: { kept: "kept", dropped: "dropped", finished: "finished", cut: "cut", path: "chosen path" },
    nodeAbout: (step, text, token, total, fate) => `Step ${step}, ${fate}: ${text || token} (log probability ${total})`,
    root: "Beginning",
    encodings: "Positions and masks",
    encodingsAbout: "Attention does not know order, so each position adds a pattern of sines and cosines to its token. Rows are positions, columns dimensions, as this model's code computes them.",
    interleaved: "Interleaved: sine and cosine in turn (the paper)",
    concatenated: "Concatenated: all sines, then all cosines (Tensor2Tensor)",
    used: "this model's",
    turns: "This model turns queries and keys instead (rotary positions).",
    encodingAt: (position, dimension, value) => `Position ${position}, dimension ${dimension}: ${value}`,
    masks: "Masks",
    masksAbout: "What each token of the decoder's input may attend to, with two tokens of padding behind it. Filled: attend.",
    padding: "Padding mask",
    causal: "Causal mask",
    both: "Both",
    facts: (m) => `${(m.parameters / 1e6).toFixed(1)} million parameters · ${m.layers}+${m.decoder} layers · ${m.heads} heads · d_model ${m.width} · vocabularies ${m.src} and ${m.tgt} · ${m.positions} positions · ${m.norm}-norm`,
    leftOut: {
      engine: "Translations elsewhere come from CTranslate2; what is shown here is PyTorch in float32, whose last digits may differ.",
      ensemble: "Several models translate as one; attention is that of the first.",
      sampling: "Translations that are drawn have no tree.",
      mbr: "The best is the one most like the others, among those listed.",
    },
    faults: {
      unreachable: "The service does not answer. Is it still running?",
      busy: (seconds) => `The service is busy. Try again in ${seconds} s.`,
      late: "The service took too long.",
      broken: "The answer broke off.",
      refused: (told) => `This cannot be shown: ${told}`,
      long: (most) => `Seeing inside takes one sentence of at most ${most} tokens; the translation above is whole.`,
    },
  },
  zh: {
    lead: "看进一次翻译的内部：模型读了什么，权衡了什么，舍弃了什么。",
    language: "页面语言",
    source: "要翻译的文本",
    placeholder: "输入一句话，按回车键",
    examples: "试试",
    beams: "束宽",
    translate: "翻译",
    working: "正在翻译……",
    looking: "正在查看内部……",
    greedyHad: (text) => `逐字输出用的是贪心搜索，结果是：${text}`,
    unmet: (terms) => `译文中缺少：${terms}。`,
    cut: "译文达到长度上限，被截断。",
    attention: "注意力：看向哪里",
    attentionAbout: "每个词元从其他词元收集所需的信息。指向一个词元，或用方向键移动，就能看到它注意了什么。每张小图是一个注意力头，第一张是各头的平均。",
    kind: "注意力的种类",
    layer: "层",
    head: "头",
    map: "注意力图",
    cross: "交叉",
    encoder: "编码器",
    decoder: "解码器",
    mean: "平均",
    layerNumber: (n) => `第 ${n} 层`,
    headNumber: (n) => `第 ${n} 头`,
    queries: { cross: "写出的词元", encoder: "读入的词元", decoder: "写出的词元" },
    keys: { cross: "看向读入的词元", encoder: "看向读入的词元", decoder: "看向前面的词元" },
    looksAt: (token, list) => `${token} ← ${list}`,
    isReadBy: (token, list) => `${token} → ${list}`,
    mapAbout: (kind, rows, columns) => `${kind}注意力，${rows} 行 ${columns} 列`,
    steps: "逐个词元",
    stepsAbout: "在前面的词元之后，每个词元有多大概率，还可能是什么。",
    token: "词元",
    probability: "概率",
    instead: "其他候选",
    rank: (n) => `第 ${n} 位`,
    best: "束中最好的译文",
    bestAbout: "按得分排序：对数概率除以长度的归一化项。选一条，可在搜索树中找到它。",
    translation: "译文",
    score: "得分",
    logProb: "对数概率",
    unfinished: "截断",
    showInTree: (text) => `在搜索树中显示：${text}`,
    tree: "束搜索",
    treeAbout: "从左到右，每一步一个词元。最可能的开头保住束中的位置，其余被舍弃。方向键可以在树中行走。",
    showDropped: "显示被舍弃的",
    fates: { kept: "保留", dropped: "舍弃", finished: "完成", cut: "截断", path: "选中的路径" },
    nodeAbout: (step, text, token, total, fate) => `第 ${step} 步，${fate}：${text || token}（对数概率 ${total}）`,
    root: "起点",
    encodings: "位置编码与掩码",
    encodingsAbout: "注意力本身不知道顺序，所以每个位置把一组正弦和余弦加到词元上。行是位置，列是维度，都由本模型的代码算出。",
    interleaved: "交错：正弦、余弦相间（论文）",
    concatenated: "拼接：先全部正弦，后全部余弦（Tensor2Tensor）",
    used: "本模型使用",
    turns: "本模型改为旋转查询和键（旋转位置编码）。",
    encodingAt: (position, dimension, value) => `位置 ${position}，维度 ${dimension}：${value}`,
    masks: "掩码",
    masksAbout: "解码器输入的每个词元可以注意哪些词元，后面补了两个填充词元。填色：可以注意。",
    padding: "填充掩码",
    causal: "因果掩码",
    both: "两者合并",
    facts: (m) => `${Math.round(m.parameters / 1e4)} 万参数 · ${m.layers}+${m.decoder} 层 · ${m.heads} 头 · d_model ${m.width} · 词表 ${m.src} 和 ${m.tgt} · ${m.positions} 位置编码 · ${m.norm}-norm`,
    leftOut: {
      engine: "平时的译文来自 CTranslate2；这里显示的是 PyTorch 的 float32 结果，末几位可能不同。",
      ensemble: "多个模型合成一个来翻译；显示的注意力来自第一个。",
      sampling: "抽样得到的译文没有搜索树。",
      mbr: "最好的译文是所列译文中与其余最相似的一条。",
    },
    faults: {
      unreachable: "服务没有响应。它还在运行吗？",
      busy: (seconds) => `服务繁忙，请 ${seconds} 秒后再试。`,
      late: "服务超时。",
      broken: "回答中断了。",
      refused: (told) => `无法显示：${told}`,
      long: (most) => `查看内部一次只能看一句，最多 ${most} 个词元；上面的译文是完整的。`,
    },
  },
};

let language = remembered() || (/^zh\b/i.test(navigator.language) ? "zh" : "en");

/** Give a text of the page in its language; a text that has places is a function. */
function say(key, ...values) {
  const text = key.split(".").reduce((texts, part) => texts?.[part], TEXTS[language]);
  return typeof text === "function" ? text(...values) : text;
}

function remembered() {
  try {
    const kept = localStorage.getItem("hanyi.language");
    return kept in TEXTS ? kept : null;
  } catch {
    return null; // a file may not be allowed to remember
  }
}

function speak(chosen) {
  language = chosen;
  try {
    localStorage.setItem("hanyi.language", chosen);
  } catch {
    // then it is not remembered
  }
}

/** Put the texts of the language where the document names them. */
function showTexts() {
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  for (const element of document.querySelectorAll("[data-t]")) {
    element.textContent = say(element.dataset.t);
  }
  for (const element of document.querySelectorAll("[data-t-label]")) {
    element.setAttribute("aria-label", say(element.dataset.tLabel));
  }
  for (const element of document.querySelectorAll("[data-t-placeholder]")) {
    element.placeholder = say(element.dataset.tPlaceholder);
  }
  for (const button of document.querySelectorAll("[data-language]")) {
    button.setAttribute("aria-pressed", button.dataset.language === language);
  }
}
