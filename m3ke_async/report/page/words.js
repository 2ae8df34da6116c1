// Every word that the page says, in English and in Chinese; {0} is the first value, {0|one|many} the form that fits it.
const WORDS = {
  accuracy: ["Accuracy", "准确率"],
  noAccuracy: ["No accuracy", "没有准确率"],
  noLabels: [
    "None of these questions has a known right letter. M3KE's test answers are not public; m3ke score RUN --key FILE scores them.",
    "这些题目都没有已知的正确答案。M3KE 测试集的答案未公开；可用 m3ke score RUN --key FILE 评分。",
  ],
  nothing: ["No question has an answer yet.", "还没有任何题目有回答。"],
  interval: ["95 % interval", "95 % 区间"],
  wilson: ["Wilson, over {0} labelled {0|question|questions}", "Wilson 区间，{0} 道有答案的题"],
  noLabelsHere: [
    "None of these questions has a known right letter; m3ke score RUN --key FILE scores them.",
    "这些题目都没有已知的正确答案；可用 m3ke score RUN --key FILE 评分。",
  ],
  average: ["M3KE's Average", "M3KE 平均分"],
  suiteAverage: ["{0}'s Average", "{0} 平均分"],
  over_tasks: ["mean of the subjects", "各科目的平均"],
  over_questions: ["mean of the questions", "各题的平均"],
  pooled: ["mean of the clusters, questions pooled", "各大类的平均，类内按题合并"],
  taskMeans: ["means of tasks: {0}", "类内按任务平均：{0}"],
  overTasks: ["95 % interval with other tasks {0}", "换用其他任务的 95 % 区间 {0}"],
  bounds: ["Bounds", "上下界"],
  boundsNote: ["unanswered all wrong, or all right", "未作答的全错或全对"],
  answeredOnly: ["Of the answered", "仅计已作答"],
  asked: ["Asked", "已提问"],
  answered: ["answered", "已作答"],
  ambiguous: ["ambiguous", "多个选项"],
  unparsed: ["unparsed", "未识别"],
  refused: ["refused", "拒答"],
  filtered: ["filtered", "被过滤"],
  truncated: ["truncated", "被截断"],
  failed: ["failed", "失败"],
  missing: ["missing", "缺失"],
  incomplete: [
    "Incomplete: {0} failed (counted as wrong), {1} missing (left out). The same command again goes on.",
    "未完成：{0} 道失败（按错计），{1} 道缺失（不计）。再次运行同一命令即可继续。",
  ],
  partial: [
    "Partial: the averages cover {0} of {1} {1|question|questions} and must not be compared with a published Average.",
    "部分结果：平均分只覆盖 {1} 道题中的 {0} 道，不可与已发表的平均分比较。",
  ],
  fewerExamples: [
    "Fewer examples than --shots {0}: {1} of {2} {2|prompt has|prompts have} {3}.",
    "示例少于 --shots {0}：{2} 条提示中有 {1} 条只有 {3} 个示例。",
  ],
  published: ["Beside the published {0}-shot results", "与已发表的 {0}-shot 结果对照"],
  otherShots: ["This run is {0}-shot.", "本次运行为 {0}-shot。"],
  source: ["Source: {0} at {1}. In %.", "来源：{0}，提交 {1}。单位 %。"],
  model: ["Model", "模型"],
  thisRun: ["this run", "本次运行"],
  thisRunPartial: ["this run, partial", "本次运行（部分）"],
  mean: ["Average", "平均"],
  heat: ["Tasks by cluster and level", "按大类与学段的任务"],
  heatPlain: ["Tasks", "任务"],
  heatNote: [
    "Each tile is a task: accuracy in %. Click one to see its questions.",
    "每格为一个任务：准确率（%）。点击可查看其题目。",
  ],
  heatAnswered: [
    "Each tile is a task: answered questions in %. Click one to see its questions.",
    "每格为一个任务：作答率（%）。点击可查看其题目。",
  ],
  bars: ["Accuracy with 95 % intervals", "准确率与 95 % 区间"],
  answeredBars: ["Answered questions", "作答率"],
  chance: ["The line marks chance, 25 %.", "竖线为随机水平 25 %。"],
  allTasks: ["All tasks", "全部任务"],
  letters: ["Letters chosen", "所选字母"],
  lettersNote: ["Share of each letter among the answers; the line is 25 %.", "各字母在回答中的占比；横线为 25 %。"],
  share: ["share, %", "占比，%"],
  evenness: [
    "Against a quarter each: chi-square {0} on 3 degrees of freedom, p {1}.",
    "与各占四分之一相比：卡方 {0}，自由度 3，p {1}。",
  ],
  longest: [
    "The longest option is chosen in {0} of {1} {1|question that has|questions that have} one, 95 % {2}.",
    "在 {1} 道有唯一最长选项的题中，该选项被选 {0}，95 % 区间 {2}。",
  ],
  shortest: [
    "The shortest option is chosen in {0} of {1} {1|question that has|questions that have} one, 95 % {2}.",
    "在 {1} 道有唯一最短选项的题中，该选项被选 {0}，95 % 区间 {2}。",
  ],
  rightShare: ["It is right in {0}.", "其正确率为 {0}。"],
  repeats: ["Questions asked more than once", "多次提问"],
  askedInOrders: [
    "Asked {0} times each in {1} orders of the options; scores count the majority.",
    "每题提问 {0} 次，选项按 {1} 种顺序排列；得分按多数计。",
  ],
  askedAgain: ["Asked {0} times each; scores count the majority.", "每题提问 {0} 次；得分按多数计。"],
  consistency: [
    "The same option every time in {0} of {1} {1|question|questions}; {2} of the asks as most of their question.",
    "{1} 道题中 {0} 每次选择相同；{2} 的提问与其题目的多数一致。",
  ],
  circular: [
    "Right every time (CircularEval): {0}, 95 % {1}; right in a single ask: {2}.",
    "每次都对（CircularEval）：{0}，95 % 区间 {1}；单次提问正确：{2}。",
  ],
  rightAlways: [
    "Right every time: {0}, 95 % {1}; right in a single ask: {2}.",
    "每次都对：{0}，95 % 区间 {1}；单次提问正确：{2}。",
  ],
  places: [
    "Places chosen, each option having stood once in each: {0}.",
    "所选位置（每个选项在各位置各出现一次）：{0}。",
  ],
  served: [
    "The served model changed during the run, and the scores mix: {0}",
    "运行期间服务端的模型发生了变化，得分混合了：{0}",
  ],
  servedOne: ["{0} ({1} {1|reply|replies})", "{0}（{1} 条回复）"],
  outcomes: ["Outcomes", "结果类型"],
  questionsShare: ["questions, %", "题目，%"],
  ledger: ["Requests, tokens, price", "请求、词元与费用"],
  requests: ["Requests sent", "发送的请求"],
  replies: ["Replies", "收到的回复"],
  retry: ["Without a reply: {0}", "无回复：{0}"],
  waited: ["Seconds waited before retries", "重试前等待的秒数"],
  seconds: ["Seconds spent asking", "提问所用秒数"],
  promptTokens: ["Prompt tokens", "输入词元"],
  completionTokens: ["Completion tokens", "输出词元"],
  cachedTokens: ["Cached tokens", "缓存命中词元"],
  wastedTokens: ["Wasted prompt tokens, estimated", "浪费的输入词元（估计）"],
  unreported: ["Replies without usage", "未报告用量的回复"],
  latency: ["Seconds a reply, mean", "每条回复的平均秒数"],
  resent: ["Kept connections that had ended", "已断开的保持连接"],
  batched: ["Tokens by batches", "批处理词元"],
  charged: ["Charged, as the provider says", "服务商报告的实际费用"],
  chargedIn: ["{0} USD in {1} {1|reply|replies}", "{1} 条回复共 {0} 美元"],
  cost: ["Price", "费用"],
  unknown: ["unknown", "未知"],
  speed: ["Speed over time", "速度随时间的变化"],
  perMinute: ["replies a minute", "每分钟回复数"],
  medianLatency: ["seconds a reply, median", "每条回复的秒数（中位数）"],
  noTimes: ["The times of the replies are in the reply store only, which was not there.", "回复时间只在回复库中，生成报告时没有该库。"],
  settings: ["Settings and versions", "设置与版本"],
  questions: ["Questions", "题目"],
  loading: ["Reading {0} of {1}…", "正在读取 {0} / {1}…"],
  shown: ["{0} of {1} {1|question|questions}", "{1} 道题中的 {0} 道"],
  shownAsks: ["{0} of {1} {1|ask|asks}", "{1} 次提问中的 {0} 次"],
  unreadable: ["The questions cannot be read by this browser: {0}", "此浏览器无法读取题目：{0}"],
  anyTask: ["All tasks", "全部任务"],
  anyOutcome: ["All outcomes", "全部结果类型"],
  anyVerdict: ["Right and wrong", "对与错"],
  right: ["right", "正确"],
  wrong: ["wrong", "错误"],
  unlabelled: ["no known answer", "无已知答案"],
  anyLetter: ["All letters", "全部字母"],
  search: ["Search question and reply", "搜索题目与回复"],
  clear: ["Clear", "清除"],
  close: ["Close", "关闭"],
  previous: ["Previous", "上一题"],
  next: ["Next", "下一题"],
  key: ["right letter {0}", "正确答案 {0}"],
  chosen: ["chosen {0}", "所选 {0}"],
  shownAs: ["shown to the model as {0}", "向模型显示为 {0}"],
  rule: ["rule {0}", "规则 {0}"],
  rotation: ["options moved by {0}", "选项移动 {0} 位"],
  sample: ["sample {0}", "采样 {0}"],
  attempts: ["requests: {0}", "请求次数：{0}"],
  reply: ["Reply", "回复"],
  reasoning: ["Reasoning", "思考过程"],
  prompt: ["Prompt", "提示词"],
  failure: ["Why there is no reply", "没有回复的原因"],
  emptyReply: ["The reply is empty.", "回复为空。"],
  shortened: [
    "{0} {0|character more is|characters more are} in answers.jsonl; so many long replies do not fit into one page.",
    "另有 {0} 个字符，见 answers.jsonl；长回复太多，一页放不下。",
  ],
  showAll: ["show all {0} characters", "显示全部 {0} 个字符"],
  comparison: ["Comparison of runs", "评测结果对比"],
  runs: ["Runs", "运行"],
  run: ["run {0}", "运行 {0}"],
  pair: ["Run {0} and run {1}", "运行 {0} 与运行 {1}"],
  unlike: ["Not the same: {0}. Questions of equal task and id are compared.", "并不相同：{0}。对比的是任务与题号都相同的题目。"],
  better: ["{0} is better than {1}: {2} to {3}, {4} points.", "{0} 优于 {1}：{2} 对 {3}，相差 {4} 个百分点。"],
  noDifference: [
    "No difference seen between {0} ({2}) and {1} ({3}): {4} points.",
    "未见 {0}（{2}）与 {1}（{3}）有差异：相差 {4} 个百分点。",
  ],
  mcnemar: [
    "Exact McNemar test, p {0} by Holm.",
    "McNemar 精确检验，Holm 校正后 p {0}。",
  ],
  least: ["A difference of {0} points would have been seen four times in five.", "若差异达 {0} 个百分点，五次中有四次能被发现。"],
  tooFew: ["So few questions cannot show any difference.", "题目太少，无法显示任何差异。"],
  difference: ["difference", "差异"],
  holm: ["p (Holm)", "p（Holm）"],
  betterOne: ["better", "较优"],
  same: ["same, %", "相同，%"],
  noLetter: ["no letter", "无选项"],
  leftOut: ["{0} more {0|question is|questions are} missing or failed in one of them.", "另有 {0} 道题在其中一方缺失或失败。"],
  agree: ["The same letter in {0} of {1} {1|question|questions}; Cohen's kappa {2}.", "{1} 道题中 {0} 选择相同；Cohen κ {2}。"],
  agreementByTask: ["Agreement by task", "各任务的一致性"],
  allRuns: ["All runs", "全部运行"],
  fleiss: ["Fleiss' kappa {0} over {1} {1|question|questions} that all answered.", "全部作答的 {1} 道题上的 Fleiss κ 为 {0}。"],
  disputed: ["Disputed questions", "有分歧的题目"],
  disputedShown: ["{0} of {1}; m3ke compare --json has all.", "共 {1} 道，列出 {0} 道；m3ke compare --json 给出全部。"],
  rightOne: ["right", "正确"],
  "Arts & Humanities": ["Arts & Humanities", "人文艺术"],
  "Social Sciences": ["Social Sciences", "社会科学"],
  "Natural Sciences": ["Natural Sciences", "自然科学"],
  STEM: ["STEM", "理工"],
  Humanities: ["Humanities", "人文"],
  "Social Science": ["Social Science", "社会科学"],
  "Primary school": ["Primary school", "小学"],
  "Junior high school": ["Junior high school", "初中"],
  "High school": ["High school", "高中"],
  College: ["College", "大学"],
  Other: ["Other", "其他"],
  otherLevel: ["Other level", "其他学段"],
  total: ["All", "全部"],
};

let language = navigator.language.startsWith("zh") ? 1 : 0;

function say(name, ...values) {
  return WORDS[name][language].replace(/\{(\d)(?:\|(.*?)\|(.*?))?\}/g, (_, place, one, many) =>
    one === undefined ? values[place] : values[place] === "1" ? one : many);
}

// A cluster, level or outcome; other suites have names that are not translated.
function named(name) {
  return Object.hasOwn(WORDS, name) ? WORDS[name][language] : name;
}

// A cluster and a level are both called Other.
function namedLevel(name) {
  if (name === null) return "";
  return name === "Other" ? say("otherLevel") : named(name);
}

// What the authors of a suite call its average; scores of M3KE name no suite.
function averageOf({ suite, averages }) {
  if (suite && suite.average === null) return { name: say("mean"), value: null, interval: null };
  const { value, interval } = averages[suite ? `over_${suite.average}` : "over_clusters_pooled"];
  return { name: suite ? say("suiteAverage", suite.title) : say("average"), value, interval };
}

// As Python writes them: a tie at the second decimal goes to the even digit.
function points(share) {
  if (share === null) return "–";
  const value = 100 * share;
  return (value * 4 % 4 === 1 ? value - 0.01 : value).toFixed(1);
}

function percent(share) {
  return share === null ? "–" : `${points(share)} %`;
}

function chance(p) {
  return p < 0.001 ? "< 0.001" : p.toFixed(3);
}

function range([low, high]) {
  return `${points(low)}–${points(high)} %`;
}

function count(number) {
  return number === null ? say("unknown") : number.toLocaleString("en");
}
