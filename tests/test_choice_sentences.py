# ruff: noqa: E501
"""Whole sentences, verdicts and asides about options, by question: what each chooses. All were written for this file."""

from __future__ import annotations

import pytest

from m3ke_async.choice import extract_choice

#: Question, options, and replies by the letter that they choose; "" for those that choose none.
SENTENCES: list[tuple[str, tuple[str, str, str, str], dict[str, list[str]]]] = [
    (
        "甲公司与乙公司签订买卖合同，约定甲先交货、乙后付款。交货前甲有确切证据证明乙经营状况严重恶化。甲可以行使的权利是",
        ("同时履行抗辩权", "先履行抗辩权", "不安抗辩权", "撤销权"),
        {
            "C": [
                "首先分析题干：甲负有先履行义务，乙后付款。甲在履行前掌握了乙经营状况严重恶化的确切证据。\n\n同时履行抗辩权要求双方没有先后履行顺序，不符合。先履行抗辩权由后履行一方享有，也不符合。撤销权针对的是可撤销合同或债务人的不当处分行为。而不安抗辩权正是先履行一方在对方可能丧失履行能力时享有的权利。\n\n因此，答案选择C。",
                "甲公司可以中止履行，这就是合同法上的不安抗辩权。",
                "本题考查的是不安抗辩权。",
                "不安抗辩权是指先履行义务的一方，在有确切证据证明对方丧失履行能力时，可以中止履行的权利。",
                "A项，双方有先后履行顺序，排除；B项，先履行抗辩权是后履行方的权利，排除；C项，符合题意；D项与本题无关。",
                "[正确答案]C<eoa>",
                "[正确答案]C<eoa>\n\n[题目]甲与乙订立合同……\n[正确答案]A<eoa>",
                "C。B错误，因为先履行抗辩权是乙的权利；A错误，因为有先后顺序；D与题干无关。",
            ],
            "": [
                "同时履行抗辩权、先履行抗辩权和不安抗辩权都是双务合同中的抗辩权，本题需要根据具体情况判断。",
                "撤销权是指债权人对债务人的危害债权行为享有的请求法院撤销的权利。",
                "甲公司可以行使撤销权吗？这需要具体分析。",
                "我认为甲既可以行使不安抗辩权，也可以行使撤销权。",
                "甲应当提供担保吗？根据《民法典》第五百二十七条，应当先履行债务的当事人，有确切证据证明对方有下列情形之一的，可以中止履行：(一)经营状况严重恶化；(二)转移财产……",
            ],
        },
    ),
    (
        "下列关于正当防卫的说法，不正确的是",
        (
            "正当防卫必须针对正在进行的不法侵害",
            "正当防卫可以针对任何第三人实施",
            "正当防卫不能明显超过必要限度",
            "对正在进行的行凶可以实施特殊防卫",
        ),
        {
            "B": [
                "正当防卫只能针对不法侵害人本人实施，不能针对第三人，因此B项表述错误，当选。A、C、D三项均符合刑法第二十条规定，不当选。",
                "正当防卫可以针对任何第三人实施。这种说法是错误的，防卫只能针对不法侵害人。",
                "A对，B错，C对，D对",
                "A. 正确\nB. 不正确，只能针对侵害人\nC. 正确\nD. 正确",
                "正确答案是B，因为正当防卫不可以针对第三人。",
                "这道题选错误的，A没问题，C没问题，D也没问题。",
                "本题为选非题，选B",
            ],
            "": [
                "A、正当防卫必须针对正在进行的不法侵害\nC、正当防卫不能明显超过必要限度\nD、对正在进行的行凶可以实施特殊防卫",
                "正当防卫的条件包括：起因条件、时间条件、对象条件、主观条件和限度条件。",
            ],
        },
    ),
    (
        "下列物质中，不属于电解质的是",
        ("氯化钠", "硫酸", "蔗糖", "氢氧化钠"),
        {
            "C": [
                "蔗糖是非电解质。",
                "氯化钠、硫酸、氢氧化钠都是电解质。",
                "氯化钠是盐，硫酸是酸，氢氧化钠是碱，它们在水溶液中都能导电，都是电解质；而蔗糖在水溶液和熔融状态下都不导电。",
                "A属于，B属于，C不属于，D属于",
                "C 蔗糖不属于电解质，是非电解质",
            ],
            "": [
                "电解质是指在水溶液或熔融状态下能导电的化合物，如氯化钠、硫酸等。",
            ],
        },
    ),
    (
        "下列朝代中，不是由少数民族建立的是",
        ("元朝", "清朝", "宋朝", "辽朝"),
        {
            "C": [
                "元朝由蒙古族建立，清朝由满族建立，辽朝由契丹族建立，只有宋朝是汉族建立的。",
            ],
            "": [
                "元朝是蒙古族建立的。",
            ],
        },
    ),
    (
        "Which of the following is not a noble gas?",
        ("Helium", "Neon", "Nitrogen", "Argon"),
        {
            "C": [
                "Nitrogen is a diatomic gas in group 15, so it is not a noble gas.",
                "Helium, neon and argon are all noble gases.",
                "The correct answer is **C) Nitrogen**.\n\n- Helium: noble gas\n- Neon: noble gas\n- Argon: noble gas",
            ],
            "": [
                "Argon is a noble gas.",
            ],
        },
    ),
    (
        "人体内合成尿素的主要器官是",
        ("肾脏", "肝脏", "脾脏", "胰腺"),
        {
            "B": [
                "肝脏",
                "尿素主要在肝脏中合成，经肾脏排出。",
                "人体内合成尿素的主要器官是肝。",
                "肝臟",
                "合成尿素的器官不是肾脏，是肝脏。",
                "肾脏：过滤血液\n肝脏：合成尿素\n脾脏：免疫\n胰腺：分泌胰液",
            ],
            "": [
                "肾脏是排泄尿素的主要器官，而不是合成尿素的器官。",
                "尿素由肾脏排出体外。",
            ],
        },
    ),
    (
        "“罢黜百家，独尊儒术”的建议是由谁提出的",
        ("董仲舒", "李斯", "王莽", "桑弘羊"),
        {
            "A": [
                "董仲舒向汉武帝提出了“罢黜百家，独尊儒术”的建议。",
                "答：董仲舒（A）。李斯是秦朝丞相，王莽建立新朝，桑弘羊是理财家。",
            ],
            "": [
                "秦始皇采纳李斯的建议焚书坑儒。",
                "“罢黜百家，独尊儒术”是汉武帝时期实行的统治政策，标志着儒家思想成为正统。",
                "董仲舒是西汉思想家，李斯是秦朝丞相，王莽是新朝皇帝，桑弘羊是汉武帝时期的理财大臣。",
            ],
        },
    ),
    (
        "函数f(x)=x^2-4x+3的最小值是",
        ("3", "1", "-1", "-4"),
        {
            "C": [
                "配方得f(x)=(x-2)^2-1，所以当x=2时取最小值-1。",
                "f(x)=(x-2)²-1≥-1，最小值为-1，故选C。",
                "对称轴x=2，f(2)=4-8+3=-1",
                "-1",
                "最小值为-1，当x=1时取得",
                "$f(2) = 2^2 - 4\\times 2 + 3 = -1$，答案为 $\\boxed{-1}$",
            ],
            "": [
                "f(x)=x²-4x+3=(x-1)(x-3)，零点为1和3。",
            ],
        },
    ),
    (
        "袋中有3个红球和2个白球，随机取2个，恰好一红一白的概率是",
        ("3/5", "2/5", "3/10", "1/2"),
        {
            "A": [
                "P = C(3,1)*C(2,1)/C(5,2) = 6/10 = 3/5",
                "P = C(3,1)×C(2,1)/C(5,2) = 6/10 = 0.6",
                "总的取法有10种，一红一白有6种，概率为6/10。",
                "概率是五分之三",
            ],
            "": [
                "共有C(5,2)=10种取法，其中一红一白C(3,1)C(2,1)=6种",
            ],
        },
    ),
    (
        "一物体从静止开始做匀加速直线运动，加速度为2m/s²，3s末的速度为",
        ("3m/s", "4m/s", "6m/s", "9m/s"),
        {
            "C": [
                "v=at=2×3=6m/s",
                "由v=at可得，v=2*3=6 m/s，因此选C",
                "3s末速度是6 m/s。位移是9m。",
                "根据公式 $v=at$，代入 $a=2\\,\\mathrm{m/s^2}$，$t=3\\,\\mathrm{s}$，得 $v=6\\,\\mathrm{m/s}$。",
            ],
        },
    ),
    (
        "在TCP/IP协议中，负责将域名解析为IP地址的协议是",
        ("DHCP", "DNS", "ARP", "FTP"),
        {
            "B": [
                "DNS（Domain Name System）",
                "DNS协议负责将域名解析为IP地址。",
                "答案：B.DNS\nA.DHCP是动态主机配置协议\nC.ARP是地址解析协议\nD.FTP是文件传输协议",
            ],
            "": [
                "ARP协议用于将IP地址解析为物理地址。",
            ],
        },
    ),
    (
        "下列各项中，会引起需求曲线向右移动的是",
        ("商品价格下降", "消费者收入增加", "生产技术进步", "替代品价格下降"),
        {
            "B": [
                "消费者收入增加会使需求曲线右移；商品价格下降只引起沿曲线的移动；生产技术进步影响供给；替代品价格下降使需求曲线左移。",
                "需求曲线右移的因素有收入增加、偏好增强等。",
            ],
            "": [
                "商品价格下降引起需求量的变动，而不是需求的变动。",
            ],
        },
    ),
    (
        "诊断急性心肌梗死最特异的心肌标志物是",
        ("肌红蛋白", "CK-MB", "心肌肌钙蛋白", "乳酸脱氢酶"),
        {
            "C": [
                "首选cTnI或cTnT（心肌肌钙蛋白）",
            ],
            "": [
                "肌红蛋白是最早升高的标志物。",
                "考虑急性心肌梗死，建议查心电图。",
            ],
        },
    ),
    (
        "提出“最近发展区”理论的心理学家是",
        ("皮亚杰", "布鲁纳", "维果茨基", "班杜拉"),
        {
            "A": [
                "A\n\n解析：最近发展区由维果茨基提出。",
            ],
            "C": [
                "维果茨基（Vygotsky）",
                "可能是A，也可能是C，但我更倾向于C。",
                "答案是A。等等，最近发展区不是皮亚杰的，应该是维果茨基，所以选C。",
                "选A……哦不，是C。",
                "A。抱歉，我刚才的回答有误，正确答案应为C。",
                "<think>\n选A吧\n</think>\n\nC",
                "<think></think>\n\n答案：**C**",
                "嗯，A的可能性大。</think>\n**答案：C. 维果茨基**",
                '{"reason":"维果茨基提出","answer":"C"}',
                '```json\n{\n  "answer": "C"\n}\n```',
                "<answer>C. 维果茨基</answer>",
                "答案: [[C]]",
                "The answer is: (C).",
                "$\\boxed{C}$",
                "\\boxed{\\text{维果茨基}}",
                "| 选项 | 判断 |\n|---|---|\n| A | ❌ |\n| B | ❌ |\n| C | ✅ |\n| D | ❌ |",
                "A) 皮亚杰\nB) 布鲁纳\nC) 维果茨基\nD) 班杜拉\n\nC) 维果茨基",
                "A.皮亚杰 B.布鲁纳 C.维果茨基 D.班杜拉 答案：C",
                "提出“最近发展区”理论的心理学家是（C）维果茨基。",
                "C\nC\nC\nC\nC\nC",
                "C\n\n题目：提出“认知结构学习理论”的是\nA. 皮亚杰\nB. 布鲁纳\n答案：B",
                "答案：C\n\n2. 提出社会学习理论的是（ ）\nA. 皮亚杰 B. 布鲁纳 C. 维果茨基 D. 班杜拉\n答案：D",
                "C\n\nHuman: 谢谢\n\nAssistant: 不客气，正确答案是A",
            ],
            "": [
                "皮亚杰认为儿童的认知发展分为四个阶段。",
                "我觉得是布鲁纳或者维果茨基。",
                "不确定，A和C都有可能。",
                "<think>\n皮亚杰是认知发展阶段论，所以选C",
                "C) 维果茨基\nD) 班杜拉",
                "提出“最近发展区”理论的心理学家是（ ）。",
                "A\nB\nC\nD",
                "ABCD",
                "AC",
                "E",
                "以上都不是",
                "没有正确答案。",
                "抱歉，作为AI语言模型，我无法回答这个问题。",
            ],
        },
    ),
    (
        "小说《红楼梦》的作者是谁",
        ("罗贯中", "施耐庵", "吴承恩", "曹雪芹"),
        {
            "D": [
                "曹雪芹",
                "《红楼梦》是清代作家曹雪芹创作的章回体长篇小说，与罗贯中的《三国演义》、施耐庵的《水浒传》、吴承恩的《西游记》并称四大名著。",
                "红楼梦前八十回作者曹雪芹，后四十回一般认为是高鹗续写。",
                "答案：曹雪芹和高鹗",
            ],
            "": [
                "《三国演义》的作者是罗贯中。",
            ],
        },
    ),
    (
        "我国最大的淡水湖是",
        ("洞庭湖", "鄱阳湖", "太湖", "青海湖"),
        {
            "B": [
                "鄱阳湖。洞庭湖是第二大淡水湖。",
                "我国最大的湖泊是青海湖，但它是咸水湖；最大的淡水湖是鄱阳湖。",
                "洞庭湖曾经是我国最大的淡水湖，现在是鄱阳湖。",
                "B。",
                "B选项正确",
                "选择B，理由如下：\n1. 鄱阳湖符合题干要求。\n2. 其他选项不符合。",
                "经过分析，我认为最合适的答案为 B 。",
                "Based on the analysis above, the correct option is B.",
                "答案是：鄱阳湖",
                "应填鄱阳湖。",
                "题目的正确答案选B，即鄱阳湖。",
                "**B. 鄱阳湖**",
                "B\nB. 鄱阳湖",
                "综上，鄱阳湖为正确选项。",
                "我会选B",
                "正确选项：B\n错误选项：其余三项",
                '{"answer": "B", "confidence": 0.93}',
                "{'choice': '鄱阳湖'}",
                "<final>B</final>",
                "Answer：B",
                "答 案：B",
                "答案\n\nB",
                "选B哦~",
                "【B】",
                "正确答案应该是选项 B，因为鄱阳湖……",
                "解：由题意，选B.",
                "B (鄱阳湖)",
                "鄱阳湖（B项）",
                "故答案为：B．",
                "The answer is 鄱阳湖.",
                "Therefore, the answer is **B: 鄱阳湖**.",
                "答案不确定，可能是B。",
                "排除法：排除其他三项，答案为B。",
                "我觉得B和另一个都有道理，但最终选B。",
                "B项最符合题意，其余各项均不符合。",
            ],
            "": [
                "青海湖是我国最大的咸水湖。",
                "不选B。",
                "B是错误的。",
                "如果题目问的是另一个，那么选B。",
                "为什么不选B呢？",
                "题干中没有给出足够的信息来判断B是否正确。",
                "B选项是什么意思？",
                "请问您是想问鄱阳湖吗？",
                "有同学选了B，你怎么看？",
                "首先来看选项B：",
            ],
        },
    ),
    (
        "社会主义核心价值观中，属于国家层面的价值目标是",
        ("富强", "自由", "爱国", "敬业"),
        {
            "": [
                "自由、平等、公正、法治是社会层面的价值取向。",
            ],
        },
    ),
    (
        "She ___ to school by bike every day.",
        ("go", "goes", "going", "gone"),
        {
            "B": [
                "goes. 主语是第三人称单数，用一般现在时。",
                "She goes to school by bike every day.",
            ],
            "": [
                "主语She是第三人称单数，谓语动词go要加es。",
            ],
        },
    ),
    (
        "《二泉映月》的演奏乐器是",
        ("琵琶", "古筝", "二胡", "笛子"),
        {
            "C": [
                "二胡。琵琶曲有《十面埋伏》。",
                "《二泉映月》是阿炳创作的二胡曲。",
            ],
            "": [
                "琵琶名曲《十面埋伏》。",
            ],
        },
    ),
    (
        "企业计提固定资产折旧时，应贷记的科目是",
        ("固定资产", "累计折旧", "管理费用", "制造费用"),
        {
            "": [
                "固定资产折旧应计入管理费用、制造费用等。",
            ],
        },
    ),
    (
        "具有“补气之圣药”之称的是",
        ("黄芪", "人参", "党参", "白术"),
        {
            "A": [
                "黄芪为补气之圣药",
            ],
            "": [
                "人参大补元气，黄芪补气升阳，党参补中益气，白术健脾益气。",
            ],
        },
    ),
    (
        "关于光合作用，下列叙述正确的是",
        ("光反应在叶绿体基质中进行", "暗反应不需要酶", "光反应产生ATP", "光合作用不释放氧气"),
        {
            "C": [
                "A错，光反应在类囊体薄膜上；B错，暗反应需要多种酶；D错，光合作用释放氧气。",
                "A. 光反应发生在类囊体薄膜，错误；B. 暗反应需要酶，错误；C. 光反应产生ATP，正确；D. 释放氧气，错误。",
            ],
            "": [
                "光反应在叶绿体的类囊体薄膜上进行，暗反应在叶绿体基质中进行，需要多种酶的参与。",
            ],
        },
    ),
    (
        "The capital of Australia is",
        ("Sydney", "Melbourne", "Canberra", "Perth"),
        {
            "C": [
                "Canberra is the capital of Australia, not Sydney.",
                "Okay, so the capital is definitely not Sydney or Melbourne. It is Canberra.",
                "My final answer: C",
                "A: Sydney\nB: Melbourne\nC: Canberra\nD: Perth\n\nAnswer: C: Canberra",
                "I'd eliminate A and B first. Perth is in the west. That leaves Canberra.",
            ],
            "": [
                "Many people think Sydney is the capital of Australia.",
                "Sydney is the largest city.",
                "The answer could be A or C. Hmm.",
            ],
        },
    ),
    (
        "根据刑法规定，已满多少周岁的人犯罪应当负刑事责任",
        ("12周岁", "14周岁", "16周岁", "18周岁"),
        {
            "C": [
                "十六周岁",
                "已满16周岁的人犯罪，应当负刑事责任。",
                "16",
                "根据《刑法》第十七条，已满十六周岁的人犯罪，应当负刑事责任。",
            ],
            "": [
                "已满14周岁不满16周岁的人，犯故意杀人等八种罪的，应当负刑事责任。",
            ],
        },
    ),
    (
        "中华人民共和国成立于",
        ("1945年", "1949年", "1950年", "1954年"),
        {
            "B": [
                "一九四九年",
                "1949",
                "新中国成立于1949年10月1日，1954年第一届全国人大召开。",
            ],
            "": [
                "1954年颁布了第一部宪法。",
            ],
        },
    ),
    (
        "下列关于集合的命题正确的是",
        ("空集是任何集合的子集", "任何集合都有真子集", "集合中的元素可以重复", "以上都不对"),
        {
            "A": [
                "A选项正确。B选项错误，空集没有真子集。C选项错误，元素互异。",
                "空集是任何集合的子集，也是任何非空集合的真子集。",
            ],
            "D": [
                "以上都不对",
            ],
        },
    ),
    (
        "下列属于我国一级保护动物的有",
        ("大熊猫", "金丝猴", "丹顶鹤", "以上都是"),
        {
            "A": [
                "A. 大熊猫",
            ],
            "D": [
                "大熊猫、金丝猴和丹顶鹤都是国家一级保护动物。",
            ],
        },
    ),
    (
        "下面四句话中，没有语病的一句是",
        (
            "通过这次活动，使我们增长了见识。",
            "能否坚持锻炼，是身体健康的保证。",
            "他那崇高的革命品质，经常浮现在我脑海中。",
            "我们要认真克服并随时发现自己的缺点。",
        ),
        {
            "B": [
                "B。A项缺主语；C项搭配不当；D项不合逻辑，应先发现后克服。",
            ],
            "C": [
                "【解析】A项，滥用介词导致主语残缺；B项，一面与两面搭配不当；D项，语序不当。故选C。",
            ],
            "D": [
                "A. 缺少主语\nB. 两面对一面\nC. 主谓搭配不当\nD. 语序不当\n\n综合来看，四个句子都有语病，但题目要求选一项，因此最接近正确的是D。",
            ],
            "": [
                "A项成分残缺，缺少主语，应删去“通过”或“使”；B项两面对一面，搭配不当；C项“品质”不能“浮现”，搭配不当；D项语序不当，应为“随时发现并认真克服”。",
            ],
        },
    ),
    (
        "下列对原文内容的理解和分析，正确的一项是",
        (
            "作者认为传统文化已经过时",
            "作者主张在继承中创新",
            "作者反对一切外来文化",
            "作者强调文化必须完全保持原貌",
        ),
        {
            "B": [
                "A项“已经过时”曲解文意，原文说的是需要转化；C项“一切”以偏概全；D项“完全”过于绝对。",
                "A曲解原意，C过于绝对，D无中生有，只有B符合文意。",
                "A项说法绝对，原文并未否定传统文化。B项与原文相符。C项张冠李戴。D项偷换概念。",
                "B项符合原文意思，其他三项均与原文不符。",
                "选B\nA项，“过时”于文无据\nC项，“一切”扩大范围\nD项，“完全”说法绝对",
                "A（错误）\nB（正确）\nC（错误）\nD（错误）",
                "A. 不符合\nB. 符合\nC. 不符合\nD. 不符合",
            ],
        },
    ),
    (
        "The defendant is most likely liable for",
        ("battery", "assault", "false imprisonment", "negligence"),
        {
            "B": [
                "Let's analyze each option.\n\n(A) Battery requires harmful or offensive contact. There was no contact here.\n(B) Assault requires reasonable apprehension of imminent contact. This fits the facts.\n(C) False imprisonment requires confinement. Not present.\n(D) Negligence requires a breach of duty. Not at issue.\n\nThus, the correct answer is (B).",
                "(A) Battery requires contact, which is absent. (B) Assault fits because the plaintiff reasonably apprehended imminent harm. (C) and (D) do not fit the facts.",
                "B is the best answer because assault requires only apprehension.",
                "I think it's B but I'm not 100% sure.",
                "The best answer here is assault (option B), since no contact occurred.",
                "Option (B): assault.",
                "ANSWER: b",
                "b)",
                "B.\n\nExplanation: Option A requires contact; option C requires confinement; option D requires breach.",
                "The defendant is most likely liable for assault.",
                "Assault, not battery.",
                "It could be argued that A applies, but because there was no contact, B is stronger.",
                "Not A, because there is no contact. Not C, because there is no confinement. Not D.",
                "Wait, I should reconsider. I first thought A, but there was no contact. Therefore B.",
                "Question: The defendant is most likely liable for\nA. battery\nB. assault\nC. false imprisonment\nD. negligence\nAnswer: B\n\nQuestion: Which of the following is a defense?\nA. consent\nB. insanity\nAnswer: A",
                "**Answer**: **B**\n\n**Reasoning**: In tort law...",
                "The correct option is B: assault",
                "Therefore, among the choices, B. assault is correct.",
                "The correct answer is D. negligence. Wait, no. It is B. assault.",
            ],
            "": [
                "The answer is either A or B.",
                "Answer: A and B",
                "None of the above.",
                "A person is liable for battery when he intends to cause a harmful contact.",
                "As an AI language model, I cannot provide legal advice.",
            ],
        },
    ),
    (
        "在请求分页系统中，LRU算法是指",
        (
            "最早进入内存的页先淘汰",
            "近期最长时间以来没被访问的页先淘汰",
            "近期被访问次数最少的页先淘汰",
            "以后再也不用的页先淘汰",
        ),
        {
            "B": [
                "LRU是最近最久未使用，对应B。A是FIFO，C是LFU，D是OPT。",
                "A是FIFO，C是LFU，D是最佳置换算法，所以选B",
                "A选项描述的是FIFO算法；B选项描述的是LRU算法；C选项描述的是LFU算法；D选项描述的是OPT算法。",
                "B选项即近期最长时间以来没被访问的页先淘汰，这就是LRU的定义。",
                "A. 最早进入内存的页先淘汰 —— FIFO\nB. 近期最长时间以来没被访问的页先淘汰 —— LRU\nC. 近期被访问次数最少的页先淘汰 —— LFU\nD. 以后再也不用的页先淘汰 —— OPT",
            ],
        },
    ),
    (
        "静脉输液时茂菲滴管内液面自行下降，最可能的原因是",
        ("滴管上端橡胶管漏气", "输液瓶位置过高", "患者肢体位置不当", "压力过大"),
        {
            "A": [
                "最可能的原因是滴管上端橡胶管漏气（A）。",
                "答案：A\nA. 滴管上端橡胶管漏气\nB. 输液瓶位置过高\nC. 患者肢体位置不当\nD. 压力过大",
                "我选择A选项，因为B、C、D都会影响滴速而不是液面。",
                "A、滴管上端橡胶管漏气；",
            ],
            "": [
                "可能的原因有：\n1. 滴管上端橡胶管漏气\n2. 输液瓶位置过高\n3. 患者肢体位置不当",
                "A B C D",
                "A. 滴管上端橡胶管漏气\nB. 输液瓶位置过高\nC. 患",
            ],
        },
    ),
    (
        "毛泽东思想活的灵魂的三个基本方面不包括",
        ("实事求是", "群众路线", "独立自主", "统一战线"),
        {
            "D": [
                "实事求是、群众路线、独立自主是毛泽东思想活的灵魂的三个基本方面，统一战线是三大法宝之一。",
                "毛泽东思想活的灵魂包括实事求是、群众路线、独立自主三个基本方面，因此不包括统一战线。",
                "毛泽东思想活的灵魂，即实事求是、群众路线、独立自主。故D项不包括在内。",
                "统一战线",
                "D（统一战线属于三大法宝）",
                "不包括D",
                "A、B、C项都是活的灵魂的基本方面，D项不是。",
            ],
        },
    ),
    (
        "极限lim(x→0) sin3x/x的值为",
        ("0", "1", "3", "1/3"),
        {
            "B": [
                "由重要极限 sinx/x→1 得结果为 1。",
            ],
            "C": [
                "lim(x→0) sin3x/x = 3·lim sin3x/(3x) = 3",
                "当x→0时，sin3x~3x，所以极限为3。",
                "利用重要极限 lim sin x / x = 1，可得原式 = 3×1 = 3，选C",
                "\\[\\lim_{x\\to 0}\\frac{\\sin 3x}{x}=3\\]\n\n所以答案是 **C**。",
                "答案：3",
                "等于3",
                "$$\\boxed{3}$$",
            ],
        },
    ),
    (
        "标志着中国新民主主义革命开端的事件是",
        ("辛亥革命", "五四运动", "中国共产党成立", "北伐战争"),
        {
            "B": [
                "1919年的五四运动标志着新民主主义革命的开端，1921年中国共产党成立，1911年辛亥革命属于旧民主主义革命。",
                "B 五四运动 是新民主主义革命的开端，A 辛亥革命属于旧民主主义革命",
                "五四运动是中国新民主主义革命的开端。",
                "答案为B，五四运动；而不是C，中国共产党成立。",
                "选B不选A",
                "B选项（五四运动）正确，A、C、D错误。",
                "这题我之前答错过，当时选了C，正确答案是B。",
                "（B）",
                "「B」",
                "选项：B",
                "【答案】B【解析】五四运动……【点评】本题难度较低",
                "正确选项为：\nB",
                "正确答案:B\n下一题:",
                "我的答案是：“B.五四运动”。",
                "B,五四运动",
                "应选B，C也有一定道理但不是开端。",
                "C不是，A也不是，答案在B和D之间，D明显太晚，那就是B了。",
                "答案是A吗？不是。答案是B。",
                "很多同学会误选C，其实应选B。",
                "以上选项中，B是对的",
                "答案选项：B五四运动",
                "五四",
                "五四爱国运动",
                "五四運動",
                "The answer is B. The May Fourth Movement (五四运动) marked the beginning.",
                "正确答案是B.五四运动。A选项的辛亥革命是旧民主主义革命；C选项的中国共产党成立虽然重要，但不是开端；D选项的北伐战争发生在1926年。",
                "B<|im_end|>\n<|im_start|>user\n下一题",
                "B</s>",
                "###答案：B###",
                "Final answer: B.",
                "ans: B",
                "选 (B)。",
                "答案B正确",
                "B对。",
                "B是正确的选项。",
                "A×，B√，C×，D×",
                "A:0.1 B:0.7 C:0.1 D:0.1",
            ],
            "C": [
                "答：选C。 解析：五四运动标志着新民主主义革命的开端。",
            ],
            "": [
                "辛亥革命推翻了清王朝的统治，是近代中国比较完全意义上的民族民主革命。",
                "新民主主义革命的开端是1919年",
                "B、C都可以",
                "B或C",
                "A.辛亥革命\nB.五四运动\nC.中国共产党成立\nD.北伐战争\n\n请选择正确答案。",
                "B\n\nA\n\nC",
                "我无法确定，请提供更多信息。",
                "答案：B\n\n\n\n答案：B\n\n\n\n答案：C",
            ],
        },
    ),
    (
        "甲公司2023年实现净利润500万元，分配现金股利100万元，提取盈余公积50万元，则期末未分配利润增加",
        ("500万元", "400万元", "350万元", "450万元"),
        {
            "C": [
                "未分配利润增加额=500-100-50=350（万元）",
                "500-100-50=350",
                "期末未分配利润增加350万元。",
                "3500000元",
                "净利润500万元，减去现金股利100万元和盈余公积50万元，得350万元，故选C。",
                "增加了三百五十万元",
                "提取盈余公积50万元，分配股利100万元后，剩余 350 万。",
            ],
        },
    ),
    (
        "豌豆的高茎(D)对矮茎(d)为显性，两株高茎豌豆杂交，后代中高茎与矮茎之比为3:1，则两亲本的基因型为",
        ("DD×DD", "DD×Dd", "Dd×Dd", "Dd×dd"),
        {
            "C": [
                "后代性状分离比为3:1，说明双亲均为杂合子，即Dd×Dd。",
                "Dd×Dd",
                "由题意知，D为显性，d为隐性，3:1说明是杂合子自交，选C",
            ],
            "": [
                "DD×Dd的后代全为高茎。",
                "D是显性基因，d是隐性基因。",
            ],
        },
    ),
    (
        "“不识庐山真面目，只缘身在此山中”说明",
        ("认识受主客观条件的限制", "意识决定物质", "事物是不可认识的", "实践是认识的来源"),
        {
            "A": [
                "“身在此山中”说明认识受到客观条件的限制，A符合题意；B颠倒了物质与意识的关系；C是不可知论；D与题干无关。",
                "①认识受主客观条件限制，A正确。②意识决定物质是唯心主义，B错误。③事物是可以认识的，C错误。④D不符合题意。",
                "这句诗说明认识受主客观条件的限制",
                "认识受主体和客体条件的限制",
                "B、C错误，D在材料中没有体现，排除。",
                "【答案】A\n【解析】\n【详解】本题考查认识论。①②……故本题选A。",
            ],
        },
    ),
    (
        "甲以乙的房屋设定抵押，后乙将该房屋出租给丙。下列说法正确的是",
        ("抵押权自合同成立时设立", "抵押权自登记时设立", "租赁关系优先于抵押权", "抵押权因出租而消灭"),
        {
            "B": [
                "根据《民法典》第四百零二条，以建筑物抵押的，应当办理抵押登记，抵押权自登记时设立。故B项正确，A项错误。先抵押后出租的，租赁关系不得对抗已登记的抵押权，C项错误。抵押物出租不影响抵押权的存在，D项错误。综上，本题答案为B。",
                "不动产抵押权自登记时设立。",
                "[正确答案]B<eoa>。解析：根据法律规定……",
                "B对C错",
                "B正确，C错误，A错误，D错误",
                "A项错，不动产抵押以登记为生效要件；\nC项错，先抵后租，租赁不能对抗抵押；\nD项错，于法无据。",
                "选项A，抵押权自合同成立时设立，这一说法不正确，因为房屋属于不动产。选项B，正确。选项C、选项D均不正确。",
                "您好！关于您的问题，正确选项是B：抵押权自登记时设立。如有其他法律问题，欢迎继续咨询。",
                "A.抵押权自合同成立时设立\nB.抵押权自登记时设立\n正确答案：B\n解析：……",
                "综合分析，答案应该是B，但也有观点认为是A。",
            ],
            "C": [
                "B选项说法正确但不全面，最佳答案是C。",
            ],
            "": [
                "抵押权自登记时设立还是自合同成立时设立，取决于抵押物的种类。",
                "B、C",
                "B；C",
                "BD",
                "本题中，抵押在先，出租在后，因此抵押权不受租赁关系的影响。",
                "律师意见：建议您咨询当地专业律师。",
                "根据所提供的信息，无法判断哪个选项正确。",
                "正确的说法有两个：B和C。",
            ],
        },
    ),
    (
        "根据公司法，有限责任公司股东人数的上限为",
        ("二十人", "三十人", "五十人", "一百人"),
        {
            "C": [
                "有限责任公司由五十个以下股东出资设立。",
                "50人",
                "五十",
                "不超过50人",
                "《公司法》第二十四条规定：有限责任公司由五十个以下股东出资设立。因此上限为50人。",
                "上限是五十人，而股份公司发起人为二人以上二百人以下。",
                "2人以上50人以下",
            ],
            "": [
                "公司法没有规定上限。",
            ],
        },
    ),
    (
        "公民下落不明满几年，利害关系人可以申请宣告死亡",
        ("2年", "3年", "4年", "5年"),
        {
            "C": [
                "下落不明满四年",
                "满4年的，利害关系人可以申请宣告死亡；因意外事件下落不明满2年的也可以。",
                "4",
                "宣告失踪为2年，宣告死亡为4年。",
            ],
            "": [
                "两年是宣告失踪的期限。",
            ],
        },
    ),
    (
        "男，25岁，转移性右下腹痛8小时，麦氏点压痛，最可能的诊断是",
        ("急性胆囊炎", "急性阑尾炎", "急性胰腺炎", "肠梗阻"),
        {
            "B": [
                "转移性右下腹痛+麦氏点压痛，典型的急性阑尾炎表现。",
                "诊断：急性阑尾炎。鉴别诊断：急性胆囊炎、急性胰腺炎、肠梗阻。",
                "阑尾炎",
                "急性阑尾炎可能性大，需与肠梗阻鉴别。",
                "考虑阑尾炎，选B。",
                "患者表现为转移性右下腹痛，A、C、D均不符合。",
                "急性胆囊炎多为右上腹痛，急性胰腺炎多为左上腹痛，肠梗阻有停止排气排便，故本例为阑尾炎。",
            ],
            "": [
                "应首先排除急性胰腺炎。",
                "建议行腹部B超检查。",
            ],
        },
    ),
    (
        "执行语句 print(3*2**2) 的输出结果是",
        ("12", "36", "18", "9"),
        {
            "A": [
                "12",
                "先算2**2=4，再算3*4=12",
                "输出12。",
                "```python\nprint(3*2**2)\n```\n\n结果是 12",
                "** 的优先级高于 *，故 3*2**2 = 3*4 = 12，选A。",
                "(3*2)**2=36，但 ** 优先级更高，所以结果为12。",
            ],
            "B": [
                "3*2=6，6**2=36，所以是36",
            ],
        },
    ),
    (
        "在完全竞争市场中，厂商短期停止营业点是",
        ("P=AC", "P=AVC最低点", "P=MC", "P=AR"),
        {
            "B": [
                "停止营业点是平均可变成本曲线的最低点，即P=AVC最低点。",
                "P=AVC",
                "AVC最低点",
                "当P=AC时为盈亏平衡点，当P=AVC最低点时为停止营业点。",
                "B选项。P = AVC 最低点",
            ],
            "": [
                "P=MC是利润最大化条件。",
            ],
        },
    ),
    (
        "Which of the following best describes a monopoly?",
        (
            "Many sellers of identical products",
            "A single seller with no close substitutes",
            "Few sellers with interdependent decisions",
            "Many sellers of differentiated products",
        ),
        {
            "B": [
                "A monopoly is a market structure with a single seller and no close substitutes.",
                "The correct answer is B) A single seller with no close substitutes.",
                "A single seller with no close substitutes",
                "B, because a monopoly has a single seller.",
                "Option A describes perfect competition. Option C describes an oligopoly. Option D describes monopolistic competition. Option B describes a monopoly.",
                "A: perfect competition\nB: monopoly\nC: oligopoly\nD: monopolistic competition",
                "I would choose option B.",
                "Choice B is the definition of monopoly; the others describe other market structures.",
                'The best description is "a single seller with no close substitutes", i.e., (B).',
                "Let me think. A market with many sellers is competitive. A few sellers is an oligopoly. So the answer must be the second one.",
                "Correct: B",
                "B\n\nThe answer is B because...",
                "**B. A single seller with no close substitutes**\n\nA monopoly exists when...",
                "B is correct. A, C, and D are incorrect.",
            ],
            "": [
                "Option A describes perfect competition. Option C describes an oligopoly. Option D describes monopolistic competition.",
                "I'm torn between B and D.",
                "It depends on the market definition.",
                "Answer:",
                "All of the above",
                "The answer is not A.",
            ],
        },
    ),
    (
        "下列离子方程式中，书写无误的是",
        (
            "Fe + 2H+ = Fe2+ + H2↑",
            "Fe + 3H+ = Fe3+ + H2↑",
            "Na + H2O = Na+ + OH- + H2↑",
            "Cu + 2H+ = Cu2+ + H2↑",
        ),
        {
            "A": [
                "A. Fe与酸反应生成Fe2+，正确；B. 电荷守恒但产物错误；C. 未配平；D. Cu不与H+反应。",
                "A正确；B应生成Fe2+；C未配平；D不反应",
                "B中铁与稀酸生成亚铁离子，B错；C中原子不守恒，C错；D中铜不与非氧化性酸反应，D错。",
                "Fe + 2H+ = Fe2+ + H2↑",
                "【答案】A\n【解析】A.铁与盐酸反应生成氯化亚铁和氢气，A正确；B.……B错误；C.……C错误；D.……D错误；答案选A。",
            ],
        },
    ),
    (
        "“但愿人长久，千里共婵娟”出自哪位词人",
        ("李清照", "辛弃疾", "苏轼", "柳永"),
        {
            "C": [
                "苏轼《水调歌头·明月几时有》",
                "这句词出自北宋苏轼的《水调歌头》。",
                "出自宋代词人苏轼（号东坡居士），不是辛弃疾。",
                "作者：苏轼",
                "是苏轼写的",
                "但愿人长久，千里共婵娟。——苏轼",
            ],
            "": [
                "李清照是婉约派代表，辛弃疾是豪放派代表，苏轼也是豪放派代表，柳永是婉约派代表。",
                "“寻寻觅觅，冷冷清清”出自李清照。",
                "苏轼或者辛弃疾",
            ],
        },
    ),
    (
        "被称为“书圣”的是",
        ("颜真卿", "王羲之", "柳公权", "欧阳询"),
        {
            "B": [
                "书圣是王羲之，代表作《兰亭序》。",
                "王羲之（B）",
                "颜真卿、柳公权并称“颜柳”，欧阳询为“楷书四大家”之一，王羲之被称为“书圣”。",
                "王羲之被后人尊为“书圣”，其子王献之并称“二王”。",
                "答案是王羲之，不是颜真卿",
            ],
            "": [
                "颜真卿被称为“亚圣”。",
                "二王之一",
            ],
        },
    ),
    (
        "关于维生素的说法，错误的是",
        ("维生素A缺乏引起夜盲症", "维生素D促进钙吸收", "维生素C是脂溶性维生素", "维生素B1缺乏引起脚气病"),
        {
            "C": [
                "C项错误，维生素C是水溶性维生素。",
                "维生素C属于水溶性维生素，因此选C。",
                "A正确，B正确，D正确。",
                "错误的是维生素C是脂溶性维生素",
                "维生素A缺乏引起夜盲症，维生素D促进钙吸收，维生素B1缺乏引起脚气病，这些都是正确的。",
                "维生素C",
            ],
        },
    ),
    (
        "All of the following are symptoms of hypothyroidism EXCEPT",
        ("weight gain", "cold intolerance", "tachycardia", "fatigue"),
        {
            "C": [
                "Tachycardia is seen in hyperthyroidism, not hypothyroidism.",
                "Hypothyroidism causes bradycardia, so tachycardia is the exception.",
                "The exception is C.",
                "C. tachycardia – hypothyroidism typically causes bradycardia.",
                "A, B and D are symptoms of hypothyroidism.",
            ],
            "": [
                "Weight gain is a symptom of hypothyroidism.",
            ],
        },
    ),
    (
        "教师职业道德的核心是",
        ("爱岗敬业", "教书育人", "关爱学生", "为人师表"),
        {
            "A": [
                "这道题我选A，因为爱岗敬业是教师职业的本质要求。",
                "A",
            ],
            "C": [
                "师德的核心是关爱学生",
                "教师职业道德的核心应当是关爱学生，也就是师爱。",
                "“关爱学生”",
                "最重要的是C，其次是A。",
                "A、B、C、D都很重要，但核心是C。",
                "ABCD都对，但最核心的是C",
            ],
            "D": [
                "答案：D 为人师表",
                "D。为人师表",
            ],
            "": [
                "关爱学生是师德的灵魂，教书育人是教师的天职，爱岗敬业是基础，为人师表是内在要求。",
                "A是基础，B是天职，C是灵魂，D是内在要求",
                "C > A > B > D",
            ],
        },
    ),
    (
        "我国现行宪法规定，全国人民代表大会每届任期",
        ("三年", "四年", "五年", "六年"),
        {
            "C": [
                "全国人大每届任期5年。",
                "C.五年。全国人大常委会每届任期也是五年。",
                "全国人民代表大会每届任期五年，每年举行一次会议。",
                "国家主席任期五年，与全国人大每届任期相同。",
                "五年(C)",
            ],
        },
    ),
    (
        "下列编程语言中，属于面向对象语言的是",
        ("C", "Java", "Fortran", "Pascal"),
        {
            "B": [
                "Java是面向对象语言，C是面向过程语言。",
                "C语言是面向过程的语言，Java是面向对象的语言。",
                "B。C语言是面向过程的。",
                "答案：B. Java",
                "Java",
                "Fortran和Pascal是面向过程的语言，C也是，所以选B。",
            ],
            "": [
                "C++和Java",
            ],
        },
    ),
]


@pytest.mark.parametrize(("question", "options", "replies"), SENTENCES)
def test_a_sentence_chooses_the_option_that_answers_the_question(
    question: str, options: tuple[str, str, str, str], replies: dict[str, list[str]]
) -> None:
    texts = dict(zip("ABCD", options, strict=True))
    wrong = [
        (reply[:60], choice.letter, choice.rule)
        for letter, said in replies.items()
        for reply in said
        if ((choice := extract_choice(reply, texts, question)).letter or "") != letter
    ]
    assert wrong == []
